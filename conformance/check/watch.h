/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library must leave as it finds it, beside memory: the thread's arithmetic, the process'
 * locale, folder and signal handlers, and the standard output, which belongs to the program.
 */
#ifndef TN_CONFORMANCE_WATCH_H
#define TN_CONFORMANCE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rounding, subnormal numbers and masked exceptions of the calling thread. */
uint32_t tn_watch_arithmetic(void);
void tn_watch_set_arithmetic(uint32_t arithmetic);

/* From now on the standard output goes nowhere, but is looked into; answers a descriptor of what it
 * was before, or -1. */
int tn_watch_output(void);
/* Notes how things are; to be called once before the first test. */
void tn_watch_begin(void);
/* Says what changed since, and takes that for how things are from now on; false: nothing did. */
bool tn_watch_changed(char *what, size_t bytes);

#endif

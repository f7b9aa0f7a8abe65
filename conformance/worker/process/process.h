/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the process a library must leave that is not seen in the thread: the limits of its
 * resources, its priority, its timers, its standard input, and the C library's random numbers.
 */
#ifndef TN_CONFORMANCE_WORKER_PROCESS_PROCESS_H
#define TN_CONFORMANCE_WORKER_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Notes how things are. */
void tn_process_note(void);
/* Says what changed since, and puts it back as it was; false: nothing did. */
bool tn_process_changed(char *what, size_t bytes);
/* The same but for what takes long to look at, and without asking the system where it is not to be
 * asked. */
bool tn_process_changed_by_callback(bool asks_system, char *what, size_t bytes);

#endif

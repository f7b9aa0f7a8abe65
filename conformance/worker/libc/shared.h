/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library whose state is the whole process', seen because this program's stand
 * before them: random numbers, and those that keep a position or an answer for their next call.
 */
#ifndef TN_CONFORMANCE_WORKER_LIBC_SHARED_H
#define TN_CONFORMANCE_WORKER_LIBC_SHARED_H

#include <stdbool.h>
#include <stddef.h>

/* Forgets what was called so far. */
void tn_shared_begin(void);
/* What the library under test called since, on any thread, and the rule that forbids it; false:
 * nothing. */
bool tn_shared_called(const char **out_rule, char *what, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that a thread holds within callbacks, known because this program's functions of locks
 * stand before the C library's. One that is held when a callback has returned lets the next one who
 * wants it wait for ever.
 */
#ifndef TN_CONFORMANCE_WORKER_LIBC_LOCKS_H
#define TN_CONFORMANCE_WORKER_LIBC_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* Around a callback, or a range, on its thread. Answers how many are held now, for leave. */
size_t tn_locks_enter(void);
/* Says which one is held that was not before, and gives all such back: false: none is. */
bool tn_locks_leave(size_t before, char *what, size_t bytes);
/* What this thread waits for ("pthread_mutex_lock of what it has taken itself"); "": for no lock.
 * Safe in a signal handler. */
void tn_locks_wanted(char *what, size_t bytes);

#endif

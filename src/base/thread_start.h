/* SPDX-License-Identifier: Apache-2.0 */
/* How the library's own threads are started. */
#ifndef TN_BASE_THREAD_START_H
#define TN_BASE_THREAD_START_H

#include <pthread.h>
#include <stdbool.h>

/* A thread without signals, which are the program's own threads' matter; a fault is that of the
 * thread that has it. */
bool tn_thread_start(pthread_t *out_thread, void *(*function)(void *user), void *user);

#endif

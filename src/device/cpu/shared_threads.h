/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of runs that share threads. Public side: tenon/threads.h. */
#ifndef TN_DEVICE_SHARED_THREADS_H
#define TN_DEVICE_SHARED_THREADS_H

#include <stdbool.h>
#include <tenon/threads.h>

/* Waits until `count` of them (at most all) are free and takes them. False: `is_cancelled`, which
 * is asked now and then, said so before. */
bool tn_threads_take(tn_threads *threads, uint32_t count, bool (*is_cancelled)(const void *user),
                     const void *user);
void tn_threads_give(tn_threads *threads, uint32_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a pool of threads is to those that use one; src/device/cpu has the threads. */
#ifndef TN_BASE_THREAD_POOL_H
#define TN_BASE_THREAD_POOL_H

#include <tenon/plugin.h>

/* Does 0..count-1 on an engine's threads; src/device/cpu gives one, null means: one thread, here.
 */
typedef struct tn_thread_pool {
    uint32_t threads;
    tn_status (*parallel_for)(const struct tn_thread_pool *pool, int64_t count, int64_t grain,
                              tn_body body, void *user);
    struct tn_workers *workers; /* lent; null: the calling thread's OpenMP team */
} tn_thread_pool;

#endif

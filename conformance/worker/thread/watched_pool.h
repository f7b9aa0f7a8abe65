/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a callback sees as the engine's threads: another pool, each of whose ranges is looked at. A
 * range leaves its thread as it found it, gives back the locks that it takes, and does not call
 * parallel_for itself. What is found becomes the test's verdict (trace.h).
 */
#ifndef TN_CONFORMANCE_WORKER_WATCHED_POOL_H
#define TN_CONFORMANCE_WORKER_WATCHED_POOL_H

#include "base/thread_pool.h"

typedef struct tn_watched_pool {
    tn_thread_pool pool; /* what the call has */
    const tn_thread_pool *inner;
} tn_watched_pool;

void tn_watched_pool_init(tn_watched_pool *out_pool, const tn_thread_pool *inner);
/* A test begins: the system is asked for a thread's state around its first ranges, and then around
 * some. */
void tn_watched_pool_begin_test(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads that keeps to the contract of parallel_for and to nothing else: one range a
 * thread, the ranges one after another on the calling thread, from the first or from the last; the
 * first range has the highest thread number, whatever the number of ranges is. What depends on how
 * an engine's threads happen to work shows every time.
 */
#ifndef TN_CONFORMANCE_WORKER_ORDERED_POOL_H
#define TN_CONFORMANCE_WORKER_ORDERED_POOL_H

#include "base/thread_pool.h"

#include <stdbool.h>

typedef struct tn_ordered_pool {
    tn_thread_pool pool; /* what a probe has */
    bool is_backwards;   /* the last range is the first to be done */
} tn_ordered_pool;

void tn_ordered_pool_init(tn_ordered_pool *out_pool, uint32_t threads, bool is_backwards);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads that shows what two of them write at once. Each range finds memory as the call
 * of parallel_for found it, as if it had begun first; what it wrote is kept, and a byte that two of
 * them wrote is a race, unless atomic instructions or a lock are used (stepped.h). Ranges go to one
 * thread each, one after another on the calling thread: nothing depends on how threads happen to
 * meet.
 */
#ifndef TN_CONFORMANCE_WORKER_RACE_POOL_H
#define TN_CONFORMANCE_WORKER_RACE_POOL_H

#include "base/thread_pool.h"

#include <stdbool.h>
#include <stddef.h>

enum { TN_RACE_REGIONS = 32 };

typedef struct tn_race_region {
    char *data;
    size_t bytes;
    const char *what; /* "output", ...; a literal */
    uint32_t index;
} tn_race_region;

typedef struct tn_race_pool {
    tn_thread_pool pool; /* what a probe has */
    tn_race_region regions[TN_RACE_REGIONS + 1];
    size_t count;
    bool is_found;
    tn_race_region at; /* where it was found: `data` is the byte */
    size_t offset;     /* of it in its region */
} tn_race_pool;

void tn_race_pool_init(tn_race_pool *out_pool, uint32_t threads);
/* Memory that ranges may write. What is more than there is room for is not looked at. */
void tn_race_pool_watch(tn_race_pool *pool, char *data, size_t bytes, const char *what,
                        uint32_t index);

#endif

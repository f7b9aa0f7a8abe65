/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges one after another; see ordered_pool.h. */
#include "ordered_pool.h"

/* Where a range begins: equal ones would be whole rows too often. The last one remains as long as
 * the grain. */
static int64_t begin_of(int64_t count, int64_t grain, int64_t parts, int64_t part) {
    const int64_t length = count / parts;
    const bool is_uneven = count - length * (parts - 1) > grain;
    return part == parts ? count : length * part + (is_uneven && part > 0);
}

static tn_status do_range(const tn_ordered_pool *own, int64_t count, int64_t grain, int64_t parts,
                          int64_t part, tn_body body, void *user) {
    const int64_t begin = begin_of(count, grain, parts, part);
    const int64_t end = begin_of(count, grain, parts, part + 1);
    return body(user, begin, end, own->pool.threads - 1 - (uint32_t)part);
}

static tn_status in_order(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                          void *user) {
    const tn_ordered_pool *own = (const tn_ordered_pool *)(const void *)pool;
    if (grain < 1) grain = 1;
    int64_t parts = count / grain;
    if (parts < 1) parts = 1;
    if (parts > pool->threads) parts = pool->threads;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t part = own->is_backwards ? parts - 1 - i : i;
        const tn_status status = do_range(own, count, grain, parts, part, body, user);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

void tn_ordered_pool_init(tn_ordered_pool *out_pool, uint32_t threads, bool is_backwards) {
    *out_pool = (tn_ordered_pool){.pool = {.threads = threads, .parallel_for = in_order},
                                  .is_backwards = is_backwards};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges one after another; see ordered_pool.h. */
#include "ordered_pool.h"

static tn_status do_range(const tn_ordered_pool *own, int64_t count, int64_t parts, int64_t part,
                          tn_body body, void *user) {
    const int64_t begin = count / parts * part;
    const int64_t end = part + 1 == parts ? count : begin + count / parts;
    return body(user, begin, end, own->pool.threads - 1 - (uint32_t)part);
}

static tn_status in_order(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                          void *user) {
    const tn_ordered_pool *own = (const tn_ordered_pool *)(const void *)pool;
    int64_t parts = count / (grain < 1 ? 1 : grain);
    if (parts < 1) parts = 1;
    if (parts > pool->threads) parts = pool->threads;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t part = own->is_backwards ? parts - 1 - i : i;
        const tn_status status = do_range(own, count, parts, part, body, user);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

void tn_ordered_pool_init(tn_ordered_pool *out_pool, uint32_t threads, bool is_backwards) {
    *out_pool = (tn_ordered_pool){.pool = {.threads = threads, .parallel_for = in_order},
                                  .is_backwards = is_backwards};
}

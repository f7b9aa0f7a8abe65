/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unique by keys (kit/order/order.h): items are sorted by their elements from the last to the
 * first, each time without changing the order of equal ones; then each is compared with the one
 * before it.
 */
#include "kit/operator/layer.h"
#include "kit/order/order.h"
#include "unique/unique.h"

typedef struct unique_sort {
    const tn_order_functions *functions;
    const tn_tensor *x;
    tn_lanes lanes;
    void *keys, *entries, *scratch;
    tn_unique_order order;
} unique_sort;

/* Of the keys, the entries and the scratch memory to sort them: 0 where they are too many. */
static uint64_t table_bytes(const tn_order_functions *functions, int64_t count) {
    const uint64_t each = functions->key_bytes + 2ul * functions->entry_bytes;
    return (uint64_t)count > UINT64_MAX / 4 / each ? 0 : ((uint64_t)count * each + 255) / 64 * 64;
}

static tn_status unique_reshape(tn_call *call) {
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_unique_read(call, &lanes, &axis));
    const uint64_t order = tn_unique_order_bytes(lanes.count);
    const uint64_t tables =
        table_bytes(tn_order_of(call->user, call->inputs[0]->type, lanes.count), lanes.count);
    if (order == 0 || tables == 0)
        return call->host->fail(call, TN_ERROR_MEMORY, "%lld items are too many to sort",
                                (long long)lanes.count);
    call->workspace_bytes = order + tables;
    return TN_OK;
}

/* The keys of element `at` of all items, of outer * inner. */
static void read_keys(const unique_sort *s, int64_t at) {
    const tn_lanes *lanes = &s->lanes;
    const char *data = s->x->data;
    const int64_t first = at / lanes->inner * lanes->count * lanes->inner + at % lanes->inner;
    s->functions->read(s->x->type, data + (size_t)first * tn_element_bytes(s->x->type),
                       lanes->inner, lanes->count, TN_ORDER_SMALLEST, s->keys);
}

static void sort_items(const unique_sort *s) {
    const int64_t count = s->lanes.count, elements = s->lanes.outer * s->lanes.inner;
    for (int64_t i = 0; i < count; i++)
        s->order.items[i] = i;
    for (int64_t at = elements; at-- > 0;) {
        read_keys(s, at);
        s->functions->join(s->keys, s->order.items, count, s->entries);
        s->functions->sort(s->entries, s->scratch, count);
        for (int64_t i = 0; i < count; i++)
            s->order.items[i] = s->functions->number(s->entries, i);
    }
}

static bool differ(const unique_sort *s, int64_t a, int64_t b) {
    const size_t bytes = s->functions->key_bytes;
    const char *keys = s->keys;
    return memcmp(keys + (size_t)a * bytes, keys + (size_t)b * bytes, bytes) != 0;
}

static void find_groups(const unique_sort *s) {
    const int64_t count = s->lanes.count, elements = s->lanes.outer * s->lanes.inner;
    const tn_unique_order *order = &s->order;
    for (int64_t i = 0; i < count; i++)
        order->begins[i] = i == 0;
    for (int64_t at = 0; at < elements; at++) {
        if (elements > 1) read_keys(s, at); /* else they are there still */
        for (int64_t i = 1; i < count; i++)
            if (differ(s, order->items[i - 1], order->items[i])) order->begins[i] = 1;
    }
}

static tn_status unique_run(tn_call *call) {
    unique_sort s = {.x = call->inputs[0]};
    uint32_t axis = 0;
    TN_TRY(tn_unique_read(call, &s.lanes, &axis));
    s.functions = tn_order_of(call->user, s.x->type, s.lanes.count);
    const size_t entries = (size_t)s.lanes.count * s.functions->entry_bytes;
    char *tables = (char *)call->workspace + tn_unique_order_bytes(s.lanes.count);
    s.order = tn_unique_order_in(call->workspace, s.lanes.count);
    s.entries = tables;
    s.scratch = tables + entries;
    s.keys = tables + 2 * entries;
    sort_items(&s);
    find_groups(&s);
    tn_unique_write(call, &s.lanes, axis, &s.order);
    return TN_OK;
}

TN_LEVEL_KERNELS_OF(, tn_unique, TN_LEVELS(tn_order), "", 1, "Unique", "keys",
                    "Keys sorted by their digits.", .traits = TN_KERNEL_DETERMINISTIC,
                    .reshape = unique_reshape, .run = unique_run);

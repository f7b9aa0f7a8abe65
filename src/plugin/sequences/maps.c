/* SPDX-License-Identifier: Apache-2.0 */
/* What a list of items must be to be a map, or a list of maps; see items.h. */
#include "base/status.h"
#include "plugin/sequences/items.h"
#include "plugin/sequences/kinds.h"

#include <tenon/plugin/string.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

size_t tn_items_most(uint32_t kind) {
    switch (kind) {
    case TN_KIND_OPTIONAL:
        return 1;
    case TN_KIND_MAP:
        return 2;
    case TN_KIND_MAPS:
        return 2 * (size_t)TN_SEQUENCE_MAX_ITEMS;
    default:
        return TN_SEQUENCE_MAX_ITEMS;
    }
}

tn_status tn_items_check_next(const tn_items *items, const tn_tensor *tensor,
                              const tn_shape *shape) {
    const bool is_values = items->count % 2 == 1;
    char text[TN_SHAPE_TEXT_BYTES];
    if (!tn_kind_is_map(tensor->kind)) return TN_OK;
    if (shape->rank != 1)
        return tn_fail(TN_ERROR_SHAPE, "the %s of map %zu of '%s' have shape %s: expected a vector",
                       is_values ? "values" : "keys", items->count / 2, tensor->name,
                       tn_shape_print(shape->rank, shape->extents, text, sizeof text));
    const int64_t keys = is_values ? tn_item_tensor(items->items[items->count - 1])->shape[0] : -1;
    if (!is_values || keys == shape->extents[0]) return TN_OK;
    return tn_fail(TN_ERROR_SHAPE,
                   "map %zu of '%s' has %" PRId64 " keys and %" PRId64 " values: expected as many",
                   items->count / 2, tensor->name, keys, shape->extents[0]);
}

tn_status tn_items_check_whole(const tn_items *items, const tn_tensor *tensor) {
    const bool is_one = tensor->kind == TN_KIND_MAP;
    if (!tn_kind_is_map(tensor->kind)) return TN_OK;
    if (is_one ? items->count == 2 : items->count % 2 == 0) return TN_OK;
    return tn_fail(TN_ERROR_RANGE, "map %zu of '%s' has no %s", items->count / 2, tensor->name,
                   items->count % 2 == 0 ? "keys" : "values");
}

/* ----------------------------------------------------------------------------------------------
 * each key once */

/* One key: its number, or its text. */
typedef struct map_key {
    const char *text;
    uint64_t bytes;
    int64_t number;
} map_key;

static map_key key_at(const tn_tensor *keys, uint64_t index) {
    map_key key = {0};
    if (keys->type == TN_STRING)
        key.text = tn_string_at(keys, index, &key.bytes);
    else
        key.number = ((const int64_t *)keys->data)[index];
    return key;
}

static int compare(const void *a, const void *b) {
    const map_key *one = a, *other = b;
    if (!one->text) return (one->number > other->number) - (one->number < other->number);
    if (one->bytes != other->bytes) return one->bytes < other->bytes ? -1 : 1;
    return one->bytes > 0 ? memcmp(one->text, other->text, (size_t)one->bytes) : 0;
}

static tn_status fail_twice(const map_key *key, size_t map, const char *name) {
    enum { SHOWN = 64 };
    if (!key->text)
        return tn_fail(TN_ERROR_ARGUMENT, "map %zu of '%s' has the key %" PRId64 " twice", map,
                       name, key->number);
    return tn_fail(TN_ERROR_ARGUMENT, "map %zu of '%s' has the key '%.*s' twice", map, name,
                   (int)(key->bytes < SHOWN ? key->bytes : SHOWN), key->text);
}

tn_status tn_items_check_keys(const tn_items *items, const tn_tensor *tensor) {
    if (!tn_kind_is_map(tensor->kind) || items->count % 2 == 0) return TN_OK;
    const tn_tensor *keys = tn_item_tensor(items->items[items->count - 1]);
    const uint64_t count = (uint64_t)keys->shape[0];
    const tn_allocator *allocator = items->store->allocator;
    map_key *sorted = tn_allocate_zero(allocator, (size_t)count + 1, sizeof *sorted);
    tn_status status = TN_OK;
    if (!sorted) return tn_fail_memory("the keys of a map");
    for (uint64_t i = 0; i < count; i++)
        sorted[i] = key_at(keys, i);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (uint64_t i = 1; i < count && status == TN_OK; i++)
        if (compare(&sorted[i - 1], &sorted[i]) == 0)
            status = fail_twice(&sorted[i], items->count / 2, tensor->name);
    tn_deallocate(allocator, sorted);
    return status;
}

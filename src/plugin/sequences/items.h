/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the `data` of a sequence or an optional points to: a list of items that are counted, so that
 * several lists have the same item, and the store that keeps the memory of items that nobody has
 * any more. A store and its lists belong to one thread at a time; lists that are finished may be
 * read by several. The service that libraries call is sequences.h.
 */
#ifndef TN_PLUGIN_SEQUENCES_ITEMS_H
#define TN_PLUGIN_SEQUENCES_ITEMS_H

#include "tensor/shape.h"

#include <tenon/plugin/sequence.h>

typedef struct tn_item tn_item;

#define TN_ITEM_CLASSES 48

typedef struct tn_item_store {
    const tn_allocator *allocator;
    /* Items without a list, by the power of two that their memory has: it is kept. */
    tn_item *free[TN_ITEM_CLASSES];
    bool is_guarded; /* new items are poisoned, and what lies behind them is looked at */
} tn_item_store;

typedef struct tn_items {
    tn_item_store *store;
    tn_item **items;
    size_t count, capacity;
    bool is_open;     /* a callback may append to it now */
    bool has_element; /* of an optional of a sequence: it has one; true of all that have an item */
} tn_items;

/* A zeroed list is empty once its `store` is set. */
/* Items back to the store; the room for pointers stays. */
void tn_items_clear(tn_items *items);
void tn_items_deinit(tn_items *items); /* a zeroed one is fine */
/* After all its lists. */
void tn_item_store_deinit(tn_item_store *store);

/* `heap_bytes`: of strings, behind the elements. TN_ERROR_MEMORY; nothing is added then. */
tn_status tn_items_append(tn_items *items, tn_type type, const tn_shape *shape, uint64_t heap_bytes,
                          void **out_data);
tn_status tn_items_share(tn_items *items, tn_item *item);
/* Items of another list in place of its own: both have them then. */
tn_status tn_items_share_all(tn_items *items, const tn_items *other);
void tn_items_drop_last(tn_items *items); /* of one that has an item */
const tn_tensor *tn_item_tensor(const tn_item *item);
/* Of a guarded store: whether the items of a list were written outside their memory.
 * TN_ERROR_PLUGIN names the item. */
tn_status tn_items_check(const tn_items *items, const char *name);

/* The type of item `index` of such a tensor: of a map that of the keys or of the values. */
static inline tn_type tn_items_type_at(const tn_tensor *tensor, size_t index) {
    const bool is_map = tensor->kind == TN_KIND_MAP || tensor->kind == TN_KIND_MAPS;
    return is_map && index % 2 == 0 ? tn_map_key_type(tensor) : tensor->type;
}
/* The most items of one. */
size_t tn_items_most(uint32_t kind);
/* Whether an item of this shape may be the next one: of maps vectors, values as many as keys.
 * TN_ERROR_SHAPE. */
tn_status tn_items_check_next(const tn_items *items, const tn_tensor *tensor,
                              const tn_shape *shape);
/* Whether maps have both keys and values. TN_ERROR_RANGE. */
tn_status tn_items_check_whole(const tn_items *items, const tn_tensor *tensor);
/* Whether the last item, where it has the keys of a map, has each key once. TN_ERROR_ARGUMENT,
 * TN_ERROR_MEMORY. */
tn_status tn_items_check_keys(const tn_items *items, const tn_tensor *tensor);

/* A tensor of the kind, the types and the name of `as`, which may be the storage's own, whose items
 * have this in common; data null. `rank` TN_RANK_UNKNOWN: nothing. */
void tn_items_describe(tn_tensor_storage *storage, const tn_tensor *as, uint32_t rank,
                       const int64_t *extents);
/* What the items of a list have in common, in place of what a descriptor says; of an empty one that
 * stays. */
void tn_items_summarize(const tn_items *items, tn_tensor_storage *inout_storage);

#endif

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
    bool is_open; /* a callback may append to it now */
} tn_items;

/* A zeroed list is empty once its `store` is set. */
/* Items back to the store; the room for pointers stays. */
void tn_items_clear(tn_items *items);
void tn_items_deinit(tn_items *items); /* a zeroed one is fine */
/* After all its lists. */
void tn_item_store_deinit(tn_item_store *store);

/* TN_ERROR_MEMORY; nothing is added then. */
tn_status tn_items_append(tn_items *items, tn_type type, const tn_shape *shape, void **out_data);
tn_status tn_items_share(tn_items *items, tn_item *item);
const tn_tensor *tn_item_tensor(const tn_item *item);
/* Of a guarded store: whether the items of a list were written outside their memory.
 * TN_ERROR_PLUGIN names the item. */
tn_status tn_items_check(const tn_items *items, const char *name);

/* A tensor of kind `kind` whose items have this in common; data null. `rank` TN_RANK_UNKNOWN:
 * nothing. */
void tn_items_describe(tn_tensor_storage *storage, uint32_t kind, tn_type type, uint32_t rank,
                       const int64_t *extents);
/* What the items of a list have in common, in place of what a descriptor says; of an empty one that
 * stays. */
void tn_items_summarize(const tn_items *items, tn_tensor_storage *inout_storage);

#endif

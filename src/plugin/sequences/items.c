/* SPDX-License-Identifier: Apache-2.0 */
/* Items, counted, with their memory; see items.h. */
#include "plugin/sequences/items.h"
#include "base/status.h"
#include "plugin/sequences/kinds.h"

#include <tenon/plugin/string.h>

#include <string.h>

enum { GUARD = 0xA5, GUARD_BYTES = 64 };

struct tn_item {
    tn_tensor_storage storage;
    tn_heap heap;      /* of strings: behind the elements */
    size_t references; /* lists that have it, a list twice where it is in it twice */
    void *memory;
    uint32_t class;  /* `memory` has 2^class bytes */
    bool is_guarded; /* the bytes behind its data are GUARD */
    tn_item *next_free;
};

const tn_tensor *tn_item_tensor(const tn_item *item) {
    return &item->storage.tensor;
}

static void release(tn_item_store *store, tn_item *item) {
    if (--item->references > 0) return;
    item->next_free = store->free[item->class];
    store->free[item->class] = item;
}

void tn_items_clear(tn_items *items) {
    while (items->count > 0)
        release(items->store, items->items[--items->count]);
    items->has_element = false;
}

void tn_items_drop_last(tn_items *items) {
    release(items->store, items->items[--items->count]);
}

void tn_items_deinit(tn_items *items) {
    if (!items->store) return;
    tn_items_clear(items);
    tn_deallocate(items->store->allocator, (void *)items->items);
    *items = (tn_items){0};
}

void tn_item_store_deinit(tn_item_store *store) {
    for (uint32_t class = 0; class < TN_ITEM_CLASSES; class ++) {
        while (store->free[class]) {
            tn_item *item = store->free[class];
            store->free[class] = item->next_free;
            tn_deallocate(store->allocator, item->memory);
            tn_deallocate(store->allocator, item);
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * memory */

/* Of a power of two bytes each, so that what is given back is found again at once. */
static uint32_t class_of(size_t bytes) {
    return bytes <= 1 ? 0 : 64u - (uint32_t)__builtin_clzll(bytes - 1);
}

static tn_status take_item(tn_item_store *store, size_t bytes, tn_item **out_item) {
    const uint32_t class = class_of(bytes);
    tn_item *item = class < TN_ITEM_CLASSES ? store->free[class] : NULL;
    if (item) {
        store->free[class] = item->next_free;
        *out_item = item;
        return TN_OK;
    }
    item = class < TN_ITEM_CLASSES ? tn_allocate_zero(store->allocator, 1, sizeof(*item)) : NULL;
    if (!item) return tn_fail_memory("an item of a sequence");
    item->class = class;
    item->memory = tn_allocate_aligned(store->allocator, (size_t)1 << class, 64);
    if (!item->memory) {
        tn_deallocate(store->allocator, item);
        return tn_fail_memory("an item of a sequence");
    }
    *out_item = item;
    return TN_OK;
}

static tn_status reserve(tn_items *items) {
    return tn_grow(items->store->allocator, (void **)&items->items, &items->capacity,
                   items->count + 1, sizeof(tn_item *));
}

/* What is left unwritten is no number, and what is written behind the end is found. */
static void poison(tn_item *item, size_t bytes) {
    memset(item->memory, 0xFF, bytes);
    memset((char *)item->memory + bytes, GUARD, GUARD_BYTES);
}

tn_status tn_items_check(const tn_items *items, const char *name) {
    for (size_t i = 0; i < items->count; i++) {
        const tn_item *item = items->items[i];
        const size_t bytes = (size_t)(item->storage.tensor.bytes + item->heap.bytes);
        const unsigned char *behind = (const unsigned char *)item->memory + bytes;
        for (size_t k = 0; item->is_guarded && k < GUARD_BYTES; k++)
            if (behind[k] != GUARD)
                return tn_fail(TN_ERROR_PLUGIN,
                               "item %zu of '%s' was written outside its %zu bytes", i, name,
                               bytes);
    }
    return TN_OK;
}

tn_status tn_items_append(tn_items *items, tn_type type, const tn_shape *shape, uint64_t heap_bytes,
                          void **out_data) {
    tn_tensor_storage storage;
    tn_item *item = NULL;
    TN_TRY(tn_tensor_init(&storage, type, TN_LINEAR, shape));
    size_t bytes = (size_t)storage.tensor.bytes;
    if (heap_bytes > SIZE_MAX - GUARD_BYTES - bytes) return tn_fail_memory("an item of a sequence");
    bytes += (size_t)heap_bytes;
    TN_TRY(reserve(items));
    TN_TRY(take_item(items->store, bytes + GUARD_BYTES, &item));
    item->storage = storage;
    item->storage.tensor.shape = item->storage.shape.extents;
    item->storage.tensor.strides = item->storage.strides;
    item->storage.tensor.data = item->memory;
    item->heap = (tn_heap){.size = sizeof item->heap,
                           .bytes = heap_bytes,
                           .data = (const char *)item->memory + storage.tensor.bytes};
    if (type == TN_STRING) item->storage.tensor.heap = &item->heap;
    item->is_guarded = items->store->is_guarded;
    if (item->is_guarded) poison(item, bytes);
    /* of a packed type the bits behind the last element */
    if (bytes > 0) ((unsigned char *)item->memory)[bytes - 1] = 0;
    *out_data = item->memory;
    return tn_items_share(items, item);
}

tn_status tn_items_share(tn_items *items, tn_item *item) {
    TN_TRY(reserve(items));
    items->items[items->count++] = item;
    item->references++;
    items->has_element = true;
    return TN_OK;
}

tn_status tn_items_share_all(tn_items *items, const tn_items *other) {
    tn_items_clear(items);
    for (size_t i = 0; i < other->count; i++)
        TN_TRY(tn_items_share(items, other->items[i]));
    items->has_element = other->has_element;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * descriptors */

void tn_items_describe(tn_tensor_storage *storage, const tn_tensor *as, uint32_t rank,
                       const int64_t *extents) {
    const tn_tensor like = *as;
    int64_t kept[TN_MAX_RANK];
    const uint32_t known = rank == TN_RANK_UNKNOWN ? 0 : rank;
    if (known > 0) memcpy(kept, extents, known * sizeof(*kept)); /* they may be the storage's */
    tn_tensor_init_open(storage, like.type, known);
    if (known > 0) memcpy(storage->shape.extents, kept, known * sizeof(*kept));
    storage->tensor.kind = like.kind;
    storage->tensor.reserved = like.reserved;
    storage->tensor.name = like.name;
    storage->tensor.rank = rank;
}

void tn_items_summarize(const tn_items *items, tn_tensor_storage *inout_storage) {
    const tn_tensor before = inout_storage->tensor;
    int64_t extents[TN_MAX_RANK] = {0};
    uint32_t rank = TN_RANK_UNKNOWN;
    if (items->count == 0 || tn_kind_is_map(before.kind)) return;
    for (size_t i = 0; i < items->count; i++) {
        const tn_tensor *item = &items->items[i]->storage.tensor;
        if (i > 0 && item->rank != rank) {
            rank = TN_RANK_UNKNOWN;
            break;
        }
        rank = item->rank;
        for (uint32_t axis = 0; axis < rank; axis++)
            extents[axis] = i == 0 || extents[axis] == item->shape[axis] ? item->shape[axis] : -1;
    }
    tn_items_describe(inout_storage, &before, rank, extents);
    inout_storage->tensor.data = before.data;
}

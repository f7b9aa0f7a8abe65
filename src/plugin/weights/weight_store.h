/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a runtime's engines share of their weights, by content: packed weights, copies of constants
 * in a device's memory, copies of whole plans. Counted; any thread may ask.
 */
#ifndef TN_PLUGIN_WEIGHTS_WEIGHT_STORE_H
#define TN_PLUGIN_WEIGHTS_WEIGHT_STORE_H

#include "base/memory.h"

/* What tells one item from another. Texts may be null, which is as "". */
typedef struct tn_weight_key {
    uint64_t content; /* hash of what it was made from */
    uint64_t bytes;
    const char *library, *kernel, *key; /* who made it, in which layout */
    const void *owner; /* the library, or the device whose memory it is in; only compared */
    uint64_t packer;   /* hash of the kernel's library and revision */
} tn_weight_key;

typedef struct tn_weight_store tn_weight_store;
typedef struct tn_shared_weight tn_shared_weight;

tn_status tn_weight_store_create(const tn_allocator *allocator, tn_weight_store **out_store);
void tn_weight_store_destroy(tn_weight_store *store); /* null is fine; all items were released */

/* The item with a count, or null. */
tn_shared_weight *tn_weight_store_find(tn_weight_store *store, const tn_weight_key *key);
/* Adds `data` with a count; the key is copied. Where another thread has added the item meanwhile
 * it is that one, and `data` stays the caller's (tn_shared_weight_data differs). TN_ERROR_MEMORY:
 * `data` stays the caller's, too. */
tn_status tn_weight_store_add(tn_weight_store *store, const tn_weight_key *key, void *data,
                              tn_shared_weight **out_item);
void *tn_shared_weight_data(const tn_shared_weight *item);
const tn_weight_key *tn_shared_weight_key(const tn_shared_weight *item);
/* Gives a count back. The last one's caller gets the data, to free it; others get null. */
void *tn_weight_store_release(tn_weight_store *store, tn_shared_weight *item);

#endif

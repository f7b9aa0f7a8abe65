/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs by key, shared by all nodes that pack the same constant the same way. See packed_store.h.
 */
#include "plugin/weights/packed_store.h"

#include "base/status.h"

#include <pthread.h>
#include <string.h>

/* An item that this store holds a count of. */
typedef struct held_weight {
    struct held_weight *next;
    tn_shared_weight *item;
} held_weight;

struct tn_packed_store {
    tn_allocator allocator;
    pthread_mutex_t lock;
    tn_weight_store *own, *weights; /* that items are in: its own, or one that is shared */
    held_weight *first, **last;
    size_t held_count;
    uint32_t blob_count;
    const tn_packed_blob *blobs;
    unsigned char filler;
};

tn_status tn_packed_store_create(const tn_allocator *allocator, tn_packed_store **out_store) {
    tn_packed_store *store = tn_allocate_zero(allocator, 1, sizeof(*store));
    if (!store) return tn_fail_memory("packed weights");
    store->allocator = *allocator;
    store->last = &store->first;
    if (tn_weight_store_create(allocator, &store->own) != TN_OK) {
        tn_deallocate(allocator, store);
        return TN_ERROR_MEMORY;
    }
    store->weights = store->own;
    pthread_mutex_init(&store->lock, NULL);
    *out_store = store;
    return TN_OK;
}

void tn_packed_store_share(tn_packed_store *store, tn_weight_store *weights) {
    store->weights = weights;
}

void tn_packed_store_lend(tn_packed_store *store, uint32_t count, const tn_packed_blob *blobs) {
    store->blob_count = count;
    store->blobs = blobs;
}

void tn_packed_store_set_filler(tn_packed_store *store, unsigned char filler) {
    store->filler = filler;
}

void tn_packed_store_destroy(tn_packed_store *store) {
    if (!store) return;
    const tn_allocator allocator = store->allocator;
    for (held_weight *held = store->first, *next; held; held = next) {
        next = held->next;
        tn_deallocate(&allocator, tn_weight_store_release(store->weights, held->item));
        tn_deallocate(&allocator, held);
    }
    tn_weight_store_destroy(store->own);
    pthread_mutex_destroy(&store->lock);
    tn_deallocate(&allocator, store);
}

static const tn_packed_blob *find_in_plan(const tn_packed_store *store, const tn_weight_key *key) {
    for (uint32_t i = 0; i < store->blob_count; i++) {
        const tn_packed_blob *blob = &store->blobs[i];
        if (blob->content == key->content && blob->packer == key->packer &&
            blob->note->bytes == key->bytes && strcmp(blob->key, key->key) == 0)
            return blob;
    }
    return NULL;
}

/* A blob that is filled for the first time, by parts that the second-level cache still has when
 * their pages were just cleared. */
typedef struct first_filling {
    char *data;
    size_t bytes;
    unsigned char filler;
} first_filling;

#define FILLED_PART ((size_t)64 * 1024) /* bytes; most blobs of small networks have several */

static tn_status fill_parts(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const first_filling *filling = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const size_t at = (size_t)i * FILLED_PART, left = filling->bytes - at;
        const size_t part = left < FILLED_PART ? left : FILLED_PART;
        tn_memory_populate(filling->data + at, part);
        memset(filling->data + at, filling->filler, part);
    }
    return TN_OK;
}

static tn_status fill_first(first_filling *filling, const tn_thread_pool *pool) {
    const int64_t count = (int64_t)((filling->bytes + FILLED_PART - 1) / FILLED_PART);
    if (!pool || pool->threads <= 1 || count <= 1) return fill_parts(filling, 0, count, 0);
    return pool->parallel_for(pool, count, 1, fill_parts, filling);
}

/* Of one filler, so that bytes which `fill` leaves out are the same ones each time. */
static tn_status fill_blob(const tn_packed_store *store, const tn_weight_key *key,
                           const tn_thread_pool *pool, tn_fill fill, void *user, void *data) {
    first_filling filling = {data, (size_t)key->bytes, store->filler};
    TN_TRY(fill_first(&filling, pool));
    const tn_status status = fill(user, data, key->bytes);
    if (status == TN_OK) return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN, "the weights '%s' could not be packed (status %d)", key->key,
                   status);
}

static tn_status create_blob(tn_packed_store *store, const tn_weight_key *key,
                             const tn_thread_pool *pool, tn_fill fill, void *user,
                             tn_shared_weight **out_item) {
    const size_t bytes = key->bytes ? (size_t)key->bytes : 1;
    void *data = key->bytes > SIZE_MAX ? NULL : tn_allocate_aligned(&store->allocator, bytes, 64);
    if (!data)
        return tn_fail(TN_ERROR_MEMORY, "no memory for %llu bytes of packed weights",
                       (unsigned long long)key->bytes);
    tn_status status = fill_blob(store, key, pool, fill, user, data);
    if (status == TN_OK) status = tn_weight_store_add(store->weights, key, data, out_item);
    if (status != TN_OK || tn_shared_weight_data(*out_item) != data)
        tn_deallocate(&store->allocator, data);
    return status;
}

/* Takes over the item's count. */
static tn_status hold_blob(tn_packed_store *store, tn_shared_weight *item, const void **out_data) {
    held_weight *held = tn_allocate(&store->allocator, sizeof(*held));
    if (!held) {
        tn_deallocate(&store->allocator, tn_weight_store_release(store->weights, item));
        return tn_fail_memory("packed weights");
    }
    *held = (held_weight){.item = item};
    pthread_mutex_lock(&store->lock);
    *store->last = held;
    store->last = &held->next;
    store->held_count++;
    pthread_mutex_unlock(&store->lock);
    *out_data = tn_shared_weight_data(item);
    return TN_OK;
}

tn_status tn_packed_store_get(tn_packed_store *store, const tn_weight_key *key,
                              tn_constant_note *constant, const tn_thread_pool *pool, tn_fill fill,
                              void *user, const void **out_data) {
    const tn_packed_blob *blob = find_in_plan(store, key);
    if (blob) {
        TN_TRY(tn_constant_note_verify(blob->note));
        *out_data = blob->note->data;
        return TN_OK;
    }
    TN_TRY(tn_constant_note_verify(constant));
    tn_shared_weight *item = tn_weight_store_find(store->weights, key);
    if (!item) TN_TRY(create_blob(store, key, pool, fill, user, &item));
    return hold_blob(store, item, out_data);
}

size_t tn_packed_store_count(const tn_packed_store *store) {
    return store->held_count;
}

tn_status tn_packed_store_visit(const tn_packed_store *store, size_t skipped, tn_packed_visit visit,
                                void *user) {
    size_t number = 0;
    for (const held_weight *held = store->first; held; held = held->next)
        if (number++ >= skipped)
            TN_TRY(
                visit(user, tn_shared_weight_key(held->item), tn_shared_weight_data(held->item)));
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared resources; see resource_store.h. A resource is made without the lock, so that its callback
 * may ask for another one; who asks for the same meanwhile waits for it.
 */
#include "base/resource_store.h"
#include "base/memory.h"
#include "base/status.h"

#include <pthread.h>
#include <string.h>

typedef struct shared_resource {
    struct shared_resource *next;
    const void *owner; /* the device or the context */
    uint32_t scope;
    bool is_ready;
    uint64_t users;
    void *resource;
    char key[]; /* a copy */
} shared_resource;

struct tn_resource_store {
    tn_allocator allocator;
    pthread_mutex_t lock;
    pthread_cond_t is_ready;
    shared_resource *first;
};

tn_status tn_resource_store_create(const tn_allocator *allocator, tn_resource_store **out_store) {
    tn_resource_store *store = tn_allocate_zero(allocator, 1, sizeof(*store));
    if (!store) return tn_fail_memory("a runtime");
    store->allocator = *allocator;
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->is_ready, NULL);
    *out_store = store;
    return TN_OK;
}

void tn_resource_store_destroy(tn_resource_store *store) {
    if (!store) return;
    const tn_allocator allocator = store->allocator;
    for (shared_resource *item = store->first, *next; item; item = next) {
        next = item->next;
        tn_deallocate(&allocator, item);
    }
    pthread_cond_destroy(&store->is_ready);
    pthread_mutex_destroy(&store->lock);
    tn_deallocate(&allocator, store);
}

static shared_resource *find_resource(tn_resource_store *store, const tn_resource *wanted,
                                      const void *owner) {
    shared_resource *item = store->first;
    while (item && (item->owner != owner || item->scope != wanted->scope ||
                    strcmp(item->key, wanted->key) != 0))
        item = item->next;
    return item;
}

static void take_out(tn_resource_store *store, const shared_resource *item) {
    shared_resource **at = &store->first;
    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
}

/* An entry that is not ready, for this thread to fill. */
static shared_resource *add_resource(tn_resource_store *store, const tn_resource *wanted,
                                     const void *owner) {
    const size_t length = strlen(wanted->key) + 1;
    shared_resource *item = tn_allocate_zero(&store->allocator, 1, sizeof(*item) + length);
    if (!item) return NULL;
    item->owner = owner;
    item->scope = wanted->scope;
    memcpy(item->key, wanted->key, length);
    item->next = store->first;
    store->first = item;
    return item;
}

static tn_status create_resource(tn_resource_store *store, tn_call *call, const tn_resource *wanted,
                                 shared_resource *item, void **out_resource) {
    void *made = NULL;
    tn_status status = wanted->create(call, wanted->user, &made);
    if (status == TN_OK && !made) status = TN_ERROR_PLUGIN;
    pthread_mutex_lock(&store->lock);
    if (status == TN_OK) {
        item->resource = *out_resource = made;
        item->users = 1;
        item->is_ready = true;
    } else {
        take_out(store, item);
        tn_deallocate(&store->allocator, item);
    }
    pthread_cond_broadcast(&store->is_ready);
    pthread_mutex_unlock(&store->lock);
    return status;
}

tn_status tn_resource_store_acquire(tn_resource_store *store, const void *owner, tn_call *call,
                                    const tn_resource *wanted, void **out_resource) {
    pthread_mutex_lock(&store->lock);
    shared_resource *item = find_resource(store, wanted, owner);
    while (item && !item->is_ready) {
        pthread_cond_wait(&store->is_ready, &store->lock);
        item = find_resource(store, wanted, owner);
    }
    if (item) {
        item->users++;
        *out_resource = item->resource;
        pthread_mutex_unlock(&store->lock);
        return TN_OK;
    }
    item = add_resource(store, wanted, owner);
    pthread_mutex_unlock(&store->lock);
    return item ? create_resource(store, call, wanted, item, out_resource) : TN_ERROR_MEMORY;
}

void tn_resource_store_release(tn_resource_store *store, const void *owner, tn_call *call,
                               const tn_resource *wanted, void *acquired) {
    pthread_mutex_lock(&store->lock);
    shared_resource *item = find_resource(store, wanted, owner);
    const bool is_last = item && item->resource == acquired && --item->users == 0;
    if (is_last) take_out(store, item);
    pthread_mutex_unlock(&store->lock);
    if (!is_last) return;
    tn_deallocate(&store->allocator, item);
    wanted->destroy(call, wanted->user, acquired);
}

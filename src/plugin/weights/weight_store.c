/* SPDX-License-Identifier: Apache-2.0 */
/* Items by key in a list under one lock; see weight_store.h. */
#include "plugin/weights/weight_store.h"

#include "base/status.h"

#include <pthread.h>
#include <string.h>

struct tn_shared_weight {
    tn_shared_weight *next;
    tn_weight_key key; /* its texts are copies behind the struct */
    void *data;
    size_t references;
};

struct tn_weight_store {
    tn_allocator allocator;
    pthread_mutex_t lock;
    tn_shared_weight *items;
};

tn_status tn_weight_store_create(const tn_allocator *allocator, tn_weight_store **out_store) {
    tn_weight_store *store = tn_allocate_zero(allocator, 1, sizeof(*store));
    if (!store) return tn_fail_memory("shared weights");
    store->allocator = *allocator;
    pthread_mutex_init(&store->lock, NULL);
    *out_store = store;
    return TN_OK;
}

void tn_weight_store_destroy(tn_weight_store *store) {
    if (!store) return;
    const tn_allocator allocator = store->allocator;
    pthread_mutex_destroy(&store->lock);
    tn_deallocate(&allocator, store);
}

static const char *text_of(const char *text) {
    return text ? text : "";
}

static bool same_text(const char *a, const char *b) {
    return strcmp(text_of(a), text_of(b)) == 0;
}

static bool same_key(const tn_weight_key *a, const tn_weight_key *b) {
    return a->content == b->content && a->bytes == b->bytes && a->owner == b->owner &&
           a->packer == b->packer && same_text(a->key, b->key) && same_text(a->kernel, b->kernel) &&
           same_text(a->library, b->library);
}

/* Under the lock. */
static tn_shared_weight *take_weight(tn_weight_store *store, const tn_weight_key *key) {
    for (tn_shared_weight *item = store->items; item; item = item->next) {
        if (!same_key(&item->key, key)) continue;
        item->references++;
        return item;
    }
    return NULL;
}

tn_shared_weight *tn_weight_store_find(tn_weight_store *store, const tn_weight_key *key) {
    pthread_mutex_lock(&store->lock);
    tn_shared_weight *item = take_weight(store, key);
    pthread_mutex_unlock(&store->lock);
    return item;
}

static tn_shared_weight *create_weight(const tn_allocator *allocator, const tn_weight_key *key,
                                       void *data) {
    const char *const texts[3] = {text_of(key->library), text_of(key->kernel), text_of(key->key)};
    const size_t bytes = strlen(texts[0]) + strlen(texts[1]) + strlen(texts[2]) + 3;
    tn_shared_weight *item = tn_allocate(allocator, sizeof(*item) + bytes);
    if (!item) return NULL;
    char *at = (char *)(item + 1);
    const char *copies[3];
    for (int i = 0; i < 3; i++) {
        copies[i] = strcpy(at, texts[i]);
        at += strlen(texts[i]) + 1;
    }
    *item = (tn_shared_weight){.key = *key, .data = data, .references = 1};
    item->key.library = copies[0];
    item->key.kernel = copies[1];
    item->key.key = copies[2];
    return item;
}

tn_status tn_weight_store_add(tn_weight_store *store, const tn_weight_key *key, void *data,
                              tn_shared_weight **out_item) {
    tn_shared_weight *made = create_weight(&store->allocator, key, data);
    if (!made) return tn_fail_memory("shared weights");
    pthread_mutex_lock(&store->lock);
    tn_shared_weight *there = take_weight(store, key);
    if (!there) {
        made->next = store->items;
        store->items = made;
    }
    pthread_mutex_unlock(&store->lock);
    if (there) tn_deallocate(&store->allocator, made);
    *out_item = there ? there : made;
    return TN_OK;
}

void *tn_shared_weight_data(const tn_shared_weight *item) {
    return item->data;
}

const tn_weight_key *tn_shared_weight_key(const tn_shared_weight *item) {
    return &item->key;
}

void *tn_weight_store_release(tn_weight_store *store, tn_shared_weight *item) {
    pthread_mutex_lock(&store->lock);
    const bool is_last = --item->references == 0;
    if (is_last) {
        tn_shared_weight **link = &store->items;
        while (*link != item)
            link = &(*link)->next;
        *link = item->next;
    }
    pthread_mutex_unlock(&store->lock);
    if (!is_last) return NULL;
    void *data = item->data;
    tn_deallocate(&store->allocator, item);
    return data;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's packed weights: blobs by key, shared by all nodes that pack the same constant the
 * same way. See host.h. */
#include "base/memory.h"
#include "plugin/host.h"

#include <pthread.h>
#include <string.h>

typedef struct packed_blob {
    struct packed_blob *next;
    tn_packed_key key; /* its texts are copies behind the struct */
    void *data;
} packed_blob;

struct tn_packed_store {
    tn_allocator allocator;
    pthread_mutex_t lock;
    packed_blob *blobs;
};

tn_status tn_packed_store_create(const tn_allocator *allocator, tn_packed_store **out_store) {
    tn_packed_store *store = tn_allocate_zero(allocator, 1, sizeof(*store));
    if (!store) return tn_fail_memory("packed weights");
    store->allocator = *allocator;
    pthread_mutex_init(&store->lock, NULL);
    *out_store = store;
    return TN_OK;
}

void tn_packed_store_destroy(tn_packed_store *store) {
    if (!store) return;
    const tn_allocator allocator = store->allocator;
    for (packed_blob *blob = store->blobs, *next; blob; blob = next) {
        next = blob->next;
        tn_deallocate(&allocator, blob->data);
        tn_deallocate(&allocator, blob);
    }
    pthread_mutex_destroy(&store->lock);
    tn_deallocate(&allocator, store);
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static const packed_blob *find(const tn_packed_store *store, const tn_packed_key *key) {
    for (const packed_blob *blob = store->blobs; blob; blob = blob->next) {
        if (blob->key.constant == key->constant && blob->key.bytes == key->bytes &&
            blob->key.owner == key->owner && same_text(blob->key.key, key->key) &&
            same_text(blob->key.kernel, key->kernel) && same_text(blob->key.library, key->library))
            return blob;
    }
    return NULL;
}

static packed_blob *make_blob(const tn_allocator *allocator, const tn_packed_key *key) {
    const char *const texts[3] = {key->library ? key->library : "", key->kernel ? key->kernel : "",
                                  key->key};
    const size_t bytes = strlen(texts[0]) + strlen(texts[1]) + strlen(texts[2]) + 3;
    packed_blob *blob = tn_allocate(allocator, sizeof(*blob) + bytes);
    if (!blob) return NULL;
    char *at = (char *)(blob + 1);
    const char *copies[3];
    for (int i = 0; i < 3; i++) {
        copies[i] = strcpy(at, texts[i]);
        at += strlen(texts[i]) + 1;
    }
    *blob = (packed_blob){
        .key = {key->constant, copies[0], copies[1], copies[2], key->bytes, key->owner}};
    blob->data = tn_allocate_aligned(allocator, key->bytes ? key->bytes : 1, 64);
    if (!blob->data) {
        tn_deallocate(allocator, blob);
        return NULL;
    }
    return blob;
}

static tn_status add(tn_packed_store *store, const tn_packed_key *key, tn_fill fill, void *user,
                     const void **out_data) {
    packed_blob *blob = make_blob(&store->allocator, key);
    if (!blob)
        return tn_fail(TN_ERROR_MEMORY, "no memory for %llu bytes of packed weights",
                       (unsigned long long)key->bytes);
    const tn_status status = fill(user, blob->data, key->bytes);
    if (status != TN_OK) {
        tn_deallocate(&store->allocator, blob->data);
        tn_deallocate(&store->allocator, blob);
        return tn_fail(TN_ERROR_PLUGIN, "the weights '%s' could not be packed (status %d)",
                       key->key, status);
    }
    blob->next = store->blobs;
    store->blobs = blob;
    *out_data = blob->data;
    return TN_OK;
}

tn_status tn_packed_store_get(tn_packed_store *store, const tn_packed_key *key, tn_fill fill,
                              void *user, const void **out_data) {
    tn_status status = TN_OK;
    pthread_mutex_lock(&store->lock);
    const packed_blob *blob = find(store, key);
    if (blob)
        *out_data = blob->data;
    else
        status = add(store, key, fill, user, out_data);
    pthread_mutex_unlock(&store->lock);
    return status;
}

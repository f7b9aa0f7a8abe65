/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packed weights of an engine: found in its plan, shared with the other engines of the runtime,
 * or made. See call.h for who asks.
 */
#ifndef TN_PLUGIN_WEIGHTS_PACKED_STORE_H
#define TN_PLUGIN_WEIGHTS_PACKED_STORE_H

#include "base/thread_pool.h"
#include "plugin/weights/constant_note.h"
#include "plugin/weights/weight_store.h"

/* Packed weights that a plan keeps for the device of one of its programs. */
typedef struct tn_packed_blob {
    uint64_t content;       /* of the constant: tn_constant_content */
    uint64_t packer;        /* tn_packer_hash of the kernel that packed it */
    const char *key;        /* that kernel's own */
    tn_constant_note *note; /* the bytes */
} tn_packed_blob;

typedef struct tn_packed_store tn_packed_store;
tn_status tn_packed_store_create(const tn_allocator *allocator, tn_packed_store **out_store);
/* Shares what is made with others; before anything is. The store of weights outlives this one. */
void tn_packed_store_share(tn_packed_store *store, tn_weight_store *weights);
/* Lends what a plan has for the kernels that are prepared from now on. */
void tn_packed_store_lend(tn_packed_store *store, uint32_t count, const tn_packed_blob *blobs);
/* What new blobs hold before they are filled: zeros, unless somebody looks for what is read
 * unwritten. */
void tn_packed_store_set_filler(tn_packed_store *store, unsigned char filler);
void tn_packed_store_destroy(tn_packed_store *store);
/* Finds the blob or makes it by `fill`, after the constant was checked (null: it was). It has the
 * lifetime of the store. `pool` maps its pages; null: the calling thread. TN_ERROR_FORMAT: the plan
 * is damaged. */
tn_status tn_packed_store_get(tn_packed_store *store, const tn_weight_key *key,
                              tn_constant_note *constant, const tn_thread_pool *pool, tn_fill fill,
                              void *user, const void **out_data);
/* How often something was found or made in this store, but for what a plan has. */
size_t tn_packed_store_count(const tn_packed_store *store);
/* Shows all of that in order, but for the first `skipped` times. */
typedef tn_status (*tn_packed_visit)(void *user, const tn_weight_key *key, const void *data);
tn_status tn_packed_store_visit(const tn_packed_store *store, size_t skipped, tn_packed_visit visit,
                                void *user);

#endif

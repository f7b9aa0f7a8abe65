/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of a block of queries with all its keys, block by block: the work of one thread in
 * kernels.c. The queries of all heads of a group are rows of one matrix, row g * queries + i for
 * query i of the group's head g.
 */
#ifndef TN_LAYERS_ATTENTION_UNIT_H
#define TN_LAYERS_ATTENTION_UNIT_H

#include "attention/attention.h"
#include "attention/online.h"

enum {
    TN_ATTENTION_ROWS = 48, /* of a block of queries; a multiple of TN_MATRIX_ROWS */
    TN_ATTENTION_FEW = 8    /* rows: so many are worth packing */
};

typedef struct tn_attention_run {
    const tn_call *call;
    const tn_attention_level *level;
    tn_attention_sizes sizes;
    tn_type type;
    bool is_packed;
    int64_t rows, row_blocks, key_blocks;   /* of a head of keys */
    uint64_t key_floats, value_floats;      /* a packed block of keys, and of values */
    uint64_t scratch_floats;                /* a thread */
    uint64_t workspace_floats;              /* all */
    float *zeros, *keys, *values, *scratch; /* the workspace's parts */
} tn_attention_run;

/* Everything but the pointers of the workspace, which the second function sets. TN_ERROR_MEMORY
 * where the workspace is too large. */
tn_status tn_attention_run_read(tn_call *call, tn_attention_run *out_run);
void tn_attention_run_lay_out(tn_attention_run *run, void *workspace);

/* Packs K and V of a block of keys; `head` counts batch * kv_heads. */
void tn_attention_pack_block(const tn_attention_run *run, int64_t head, int64_t block,
                             uint32_t thread);
void tn_attention_unit_run(const tn_attention_run *run, int64_t head, int64_t block,
                           uint32_t thread);

/* pack.c: `count` elements of the node's type as floats; */
void tn_attention_widen(const tn_attention_run *run, int64_t count, const void *from, float *to);
/* `count` rows of K (is_key) or V from key `first` on, as floats: in the tensor itself, or
 * copied to `buffer`, *out_stride apart. */
const float *tn_attention_gather(const tn_attention_run *run, bool is_key, int64_t head,
                                 int64_t first, int64_t count, float *buffer, int64_t *out_stride);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator RotaryEmbedding and its CUDA kernel share. */
#ifndef TN_LAYERS_ROTARY_EMBEDDING_ROTARY_EMBEDDING_H
#define TN_LAYERS_ROTARY_EMBEDDING_ROTARY_EMBEDDING_H

#include <tenon/plugin.h>

typedef struct tn_rotary_params {
    uint64_t present;
    int64_t interleaved, num_heads, rotary_embedding_dim;
} tn_rotary_params;

enum { TN_ROTARY_X = 0, TN_ROTARY_COSINES = 1, TN_ROTARY_SINES = 2, TN_ROTARY_POSITIONS = 3 };

/* Rows are heads at a position, in the input's layout; 2 half of their depth elements are turned.
 */
typedef struct tn_rotary_sizes {
    int64_t rows, positions, heads, depth, half;
    bool has_heads_first; /* rank 4: batch, heads, positions, elements */
} tn_rotary_sizes;

/* Checks shapes and fields. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_rotary_read(tn_call *call, tn_rotary_sizes *out_sizes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator LinearAttention and its kernels share: the sizes that a node's shapes mean. */
#ifndef TN_LAYERS_LINEAR_ATTENTION_LINEAR_ATTENTION_H
#define TN_LAYERS_LINEAR_ATTENTION_LINEAR_ATTENTION_H

#include <tenon/plugin.h>

typedef struct tn_linear_attention_params {
    uint64_t present;
    int64_t chunk_size, kv_num_heads, q_num_heads;
    float scale;
    uint32_t update_rule;
} tn_linear_attention_params;

/* Rules, by bits: the state decays, and what it holds for a key is taken off before a value is
 * added. */
enum { TN_LINEAR_GATED = 1, TN_LINEAR_DELTA = 2 };

enum {
    TN_LINEAR_QUERY = 0,
    TN_LINEAR_KEY = 1,
    TN_LINEAR_VALUE = 2,
    TN_LINEAR_PAST = 3,
    TN_LINEAR_DECAY = 4,
    TN_LINEAR_BETA = 5
};
enum { TN_LINEAR_OUTPUT = 0, TN_LINEAR_PRESENT = 1 };

typedef struct tn_linear_attention_sizes {
    int64_t batch, steps, q_heads, kv_heads, group; /* group = q_heads / kv_heads */
    int64_t k_depth, v_depth;                       /* the state is k_depth x v_depth a head */
    int64_t decays, betas; /* of a step: kv_heads, or kv_heads * k_depth; 1 or kv_heads */
    double scale;
    bool is_gated, is_delta;
} tn_linear_attention_sizes;

/* Checks shapes and fields. TN_ERROR_ARGUMENT, TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_linear_attention_read(tn_call *call, tn_linear_attention_sizes *out_sizes);

extern const tn_kernel *const tn_linear_attention_kernels[1]; /* kernels.c */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator Attention and its kernels share: the sizes that a node's shapes mean, and
 * which keys a query sees. Heads of the queries come in groups, one group a head of keys and
 * values (Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models", 2023).
 */
#ifndef TN_LAYERS_ATTENTION_ATTENTION_H
#define TN_LAYERS_ATTENTION_ATTENTION_H

#include "kit/math/element.h"

#include <math.h>

typedef struct tn_attention_params {
    uint64_t present;
    int64_t is_causal, kv_num_heads, q_num_heads, qk_matmul_output_mode;
    float scale, softcap;
    uint32_t softmax_precision; /* in ONNX's numbering of types; 0: not given */
    int64_t left_window_size, right_window_size;
} tn_attention_params;

/* Bits of `present`. */
enum { TN_ATTENTION_FIELD_SCALE = 4, TN_ATTENTION_PACKED_FIELD_SCALE = 3 };
enum {
    TN_ATTENTION_Q = 0,
    TN_ATTENTION_K = 1,
    TN_ATTENTION_V = 2,
    TN_ATTENTION_MASK = 3,
    TN_ATTENTION_PAST_KEY = 4,
    TN_ATTENTION_PAST_VALUE = 5,
    TN_ATTENTION_LENGTHS = 6 /* nonpad_kv_seqlen */
};
enum {
    TN_ATTENTION_Y = 0,
    TN_ATTENTION_PRESENT_KEY = 1,
    TN_ATTENTION_PRESENT_VALUE = 2,
    TN_ATTENTION_SCORES = 3 /* qk_matmul_output */
};

/* Element (batch, head, position, 0) of a tensor of heads lies at first + batch * strides.batch +
 * head * strides.head + position * strides.position. */
typedef struct tn_attention_strides {
    int64_t first, batch, head, position;
} tn_attention_strides;
static inline int64_t tn_attention_at(const tn_attention_strides *strides, int64_t batch,
                                      int64_t head, int64_t position) {
    return strides->first + batch * strides->batch + head * strides->head +
           position * strides->position;
}

typedef struct tn_attention_sizes {
    int64_t batch, q_heads, kv_heads, group; /* group = q_heads / kv_heads */
    int64_t queries, past, keys;             /* keys = past + those of K */
    int64_t depth, v_depth;                  /* elements of a head of Q and K, and of V */
    double scale, softcap;                   /* softcap 0: none */
    tn_attention_strides q, k, v, y;
    int64_t mask_strides[4]; /* by batch, head, query, key; 0: broadcast */
    int64_t mask_keys;       /* keys from here on are masked */
} tn_attention_sizes;

/* Inputs of PackedQkvAttention, whose rows have queries, keys and values behind each other. */
enum { TN_ATTENTION_PACKED = 0, TN_ATTENTION_PACKED_MASK = 1, TN_ATTENTION_PACKED_INPUTS = 2 };
static inline bool tn_attention_is_packed(const tn_call *call) {
    return call->op->input_count == TN_ATTENTION_PACKED_INPUTS;
}
/* The tensor of an input, by Attention's numbers, of a node of either operator; null: absent. */
static inline const tn_tensor *tn_attention_input(const tn_call *call, uint32_t input) {
    if (tn_attention_is_packed(call)) {
        if (input > TN_ATTENTION_MASK) return NULL;
        input = input == TN_ATTENTION_MASK ? TN_ATTENTION_PACKED_MASK : TN_ATTENTION_PACKED;
    }
    return input < call->input_count ? call->inputs[input] : NULL;
}

/* Checks the shapes and fields of an Attention node. TN_ERROR_ARGUMENT, TN_ERROR_SHAPE,
 * TN_ERROR_RANGE. */
tn_status tn_attention_read(tn_call *call, tn_attention_sizes *out_sizes);
/* Checks the numbers of keys of a run, input TN_ATTENTION_LENGTHS. TN_ERROR_RANGE. */
tn_status tn_attention_check_lengths(tn_call *call, const tn_attention_sizes *sizes);

/* The keys that a query sees: begin..end-1. Empty: none, begin is then end. */
typedef struct tn_attention_range {
    int64_t begin, end;
} tn_attention_range;
tn_attention_range tn_attention_range_of(const tn_call *call, const tn_attention_sizes *sizes,
                                         int64_t batch, int64_t query);

/* Where in the mask the row of a query begins. */
static inline int64_t tn_attention_mask_row(const tn_attention_sizes *sizes, int64_t batch,
                                            int64_t head, int64_t query) {
    return batch * sizes->mask_strides[0] + head * sizes->mask_strides[1] +
           query * sizes->mask_strides[2];
}

/* Where in K or V, or in the past of either (is_past), the elements of a key begin. */
int64_t tn_attention_key_offset(const tn_attention_sizes *sizes,
                                const tn_attention_strides *strides, int64_t depth, int64_t batch,
                                int64_t head, int64_t key, bool *out_is_past);

/* Rows begin..end-1, of batch * kv_heads * keys, of the outputs present_key and present_value,
 * where they are asked for. */
void tn_attention_write_present(const tn_call *call, const tn_attention_sizes *sizes, int64_t begin,
                                int64_t end);

/* The mask's number that is added to a score; minus infinity: the key is not seen. */
static inline double tn_attention_mask_value(const tn_tensor *mask, int64_t at) {
    const double value = tn_element_f64(mask, at);
    return mask->type != TN_BOOL ? value : value != 0 ? 0 : -(double)INFINITY;
}

/* rows.c: all types, a query at a time in double precision. */
tn_status tn_attention_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_attention_rows_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_attention_rows_run(tn_call *call) TN_NOEXCEPT;

extern const tn_kernel *const tn_attention_kernels[2]; /* kernels.c */

#endif

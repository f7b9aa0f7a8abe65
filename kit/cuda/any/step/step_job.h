/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators along the steps of sequences, in floats of any type: angles of positions, convolutions
 * that see the past alone, caches with an update, and recurrences. What callbacks hand to step.cu
 * and recurrent.cu. For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_STEP_STEP_JOB_H
#define TN_KIT_CUDA_ANY_STEP_STEP_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RotaryEmbedding: rows are heads at a position, `depth` elements each, of which 2 `half` are
 * turned. */
typedef struct tn_cuda_rotary_job {
    const void *x, *cosines, *sines;
    const int64_t
        *position_ids; /* rows of the tables, of each sample and position; null: its own */
    void *y;
    tn_type type;
    int64_t count; /* of elements */
    int64_t heads, positions, depth, half;
    int64_t table_rows; /* what is none of 0 ... table_rows - 1 is a fault */
    bool has_heads_first, is_interleaved;
    tn_cuda_fault *fault;
} tn_cuda_rotary_job;
cudaError_t tn_cuda_rotary_launch(const void *job, cudaStream_t stream);

/* CausalConvWithState: rows are channels of samples. */
typedef struct tn_cuda_causal_job {
    const void *x, *weight, *bias, *past; /* bias, past: or null */
    void *y, *present;                    /* or null */
    tn_type type;
    int64_t rows, channels, length, taps;
    bool has_sigmoid;
} tn_cuda_causal_job;
cudaError_t tn_cuda_causal_launch(const void *job, cudaStream_t stream);

/* TensorScatter: prefixes x positions x inner elements, of which `updates` positions are replaced
 * from an index of each sample on, `a_sample` prefixes each. */
typedef struct tn_cuda_cache_job {
    const void *past, *update;
    const int64_t *indices; /* null: 0 */
    void *present;
    uint32_t bytes;
    int64_t past_bytes;
    int64_t prefixes, a_sample, positions, updates, inner;
    bool is_circular; /* else what does not fit is a fault, and left out */
    tn_cuda_fault *fault;
} tn_cuda_cache_job;
cudaError_t tn_cuda_cache_launch(const void *job, cudaStream_t stream);

/* LinearAttention: a column of a head's state a thread, since columns do not depend on each other.
 */
typedef struct tn_cuda_linear_attention_job {
    const void *query, *key, *value, *past, *decay, *beta; /* the last three: or null */
    void *y, *present;                                     /* or null */
    tn_type type, past_type, present_type;
    double *state; /* scratch: k_depth x batch * kv_heads * v_depth */
    int64_t batch, steps, q_heads, kv_heads, k_depth, v_depth, decays, betas;
    double scale;
} tn_cuda_linear_attention_job;
cudaError_t tn_cuda_linear_attention_launch(const void *job, cudaStream_t stream);

/* Recurrent layers; layers/recurrent/recurrent.h has the formulas. */
enum { TN_CUDA_CELL_LSTM = 0, TN_CUDA_CELL_GRU = 1, TN_CUDA_CELL_RNN = 2 };
typedef struct tn_cuda_recurrent_function {
    uint32_t kind; /* TN_RECURRENT_... of kit/math/recurrent_function.h */
    float alpha, beta;
} tn_cuda_recurrent_function;

typedef struct tn_cuda_recurrent_job {
    const void *x, *input_weights, *hidden_weights, *bias, *peepholes, *h_0, *c_0;
    const int32_t *lengths; /* null: all steps; outside 0 ... steps: a fault */
    const void *cont, *x_static, *static_weights, *output_weights, *output_bias; /* Caffe's */
    void *y, *h_last, *c_last;
    tn_type type, cont_type;
    uint32_t cell, gates, rows[4]; /* gate k of the cell is gate rows[k] of the weights */
    int64_t steps, streams, directions, depth, static_depth, hidden;
    bool has_two_biases, is_reverse, streams_first, linear_before_reset, input_forget;
    double clip; /* infinite: none */
    tn_cuda_recurrent_function functions[2][3];
    double *gate_sums; /* scratch: directions x steps x streams x gates * hidden: of the input */
    double *state;     /* scratch: directions x streams x 4 * hidden + gates * hidden */
    tn_cuda_fault *fault;
} tn_cuda_recurrent_job;
cudaError_t tn_cuda_recurrent_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

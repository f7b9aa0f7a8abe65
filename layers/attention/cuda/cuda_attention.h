/* SPDX-License-Identifier: Apache-2.0 */
/* What Attention's callbacks on CUDA hand to its kernels. */
#ifndef TN_LAYERS_ATTENTION_CUDA_CUDA_ATTENTION_H
#define TN_LAYERS_ATTENTION_CUDA_CUDA_ATTENTION_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN_CUDA_ATTENTION_DEPTH = 256, /* the most elements of a head */
    TN_CUDA_NO_MASK = 0,
    TN_CUDA_MASK_BOOL = 1,
    TN_CUDA_MASK_F32 = 2,
    TN_CUDA_MASK_F16 = 3,
    TN_CUDA_MASK_BF16 = 4
};

/* Elements from one of the batch, head and position to the next. */
typedef struct tn_cuda_heads {
    int64_t batch, head, position;
} tn_cuda_heads;

/* See tn_attention_sizes for what the sizes mean. Keys before `past` lie in past_k and past_v,
 * [batch, kv_heads, past, depth], the others in k and v. */
typedef struct tn_cuda_attention {
    const void *q, *k, *v, *past_k, *past_v, *mask;
    const int64_t *lengths; /* null: all keys are there */
    void *y;
    tn_cuda_heads q_step, k_step, v_step, y_step;
    int64_t mask_step[4]; /* by batch, head, query, key */
    int batch, kv_heads, group, queries, past, keys, mask_keys;
    int depth, v_depth;
    int left, right; /* keys around its position that a query sees; -1: all */
    int mask_type;
    float scale, softcap; /* softcap 0: none */
    bool is_aligned;      /* rows of k and v, also of the past, begin at 16 bytes */
    bool is_q_aligned;
} tn_cuda_attention;

/* Products of 32-bit floats as they are, of floats rounded to tf32, and of 16-bit types. */
cudaError_t tn_cuda_attention_f32(const tn_cuda_attention *job, cudaStream_t stream);
cudaError_t tn_cuda_attention_tf32(const tn_cuda_attention *job, cudaStream_t stream);
cudaError_t tn_cuda_attention_f16(const tn_cuda_attention *job, cudaStream_t stream);
cudaError_t tn_cuda_attention_bf16(const tn_cuda_attention *job, cudaStream_t stream);

/* The past and what is new behind it, of each of `heads` = batch * kv_heads. */
typedef struct tn_cuda_present {
    const void *past, *from;
    void *to;
    tn_cuda_heads step; /* of `from` */
    int64_t elements;   /* of `to` */
    int kv_heads, past_keys, keys, depth;
    int element_bytes; /* 2 or 4 */
} tn_cuda_present;
cudaError_t tn_cuda_present_write(const tn_cuda_present *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

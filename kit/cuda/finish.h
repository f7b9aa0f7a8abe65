/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library's convolution or product leaves undone, in one launch: weights' scales, bias,
 * residual, activation and the output's rounding. Kernels that do it while they store need none of
 * this.
 */
#ifndef TN_KIT_CUDA_FINISH_H
#define TN_KIT_CUDA_FINISH_H

#include <tenon/kit/cuda/activate.cuh>

#include <cuda_runtime_api.h>

/* y = activation(sum * scale[c] + bias[c] + residual * residual_scale), over y_scale where y is
 * stored in 8 bits. `sums` may be `y`. Elements are `outer` x `channels` x `inner` in memory. */
typedef struct tn_cuda_finish {
    const void *sums, *residual; /* residual: stored as y is; null: none */
    void *y;
    tn_type sum_type, y_type;  /* TN_F32, or TN_F16 or TN_BF16 where both are; y also TN_I8 */
    const float *scale, *bias; /* null: one, none */
    float residual_scale, y_scale;
    tn_cuda_activation activation;
    int64_t outer, channels, inner;
} tn_cuda_finish;

cudaError_t tn_cuda_finish_launch(const tn_cuda_finish *finish, cudaStream_t stream);

#endif

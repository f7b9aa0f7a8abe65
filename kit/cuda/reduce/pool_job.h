/* SPDX-License-Identifier: Apache-2.0 */
/* What the callbacks of pool.h hand to the launches in pool.cu. */
#ifndef TN_KIT_CUDA_REDUCE_POOL_JOB_H
#define TN_KIT_CUDA_REDUCE_POOL_JOB_H

#include <cuda_runtime_api.h>
#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_POOL_AXES = 3 };

/* `batch` images of `channels` beside each other at every pixel; a linear tensor is one of a single
 * channel and as many more images. Axes in front are of one element where there are fewer. */
typedef struct tn_cuda_pool_job {
    tn_type type; /* TN_F32, F16, BF16, I8 */
    const void *x;
    void *y;
    float x_scale, y_inverse; /* of 8-bit numbers: the scale, and one over the output's */
    bool is_mean, counts_pads;
    int64_t x_pitch, y_pitch; /* elements from one pixel to the next: `channels`, or more */
    int32_t batch, channels;
    int32_t input[TN_CUDA_POOL_AXES], output[TN_CUDA_POOL_AXES], kernel[TN_CUDA_POOL_AXES];
    int32_t stride[TN_CUDA_POOL_AXES], dilation[TN_CUDA_POOL_AXES];
    int32_t pad_begin[TN_CUDA_POOL_AXES], pad_end[TN_CUDA_POOL_AXES];
} tn_cuda_pool_job;

cudaError_t tn_cuda_pool_launch(const tn_cuda_pool_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

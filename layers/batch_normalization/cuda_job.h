/* SPDX-License-Identifier: Apache-2.0 */
/* What BatchNormalization's CUDA callbacks (cuda.c) hand to its launches (cuda_channels.cu). */
#ifndef TN_LAYERS_BATCH_NORMALIZATION_CUDA_JOB_H
#define TN_LAYERS_BATCH_NORMALIZATION_CUDA_JOB_H

#include "kit/cuda/pointwise/chain.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements whose channel is (element / inner) % channels. */
typedef struct tn_batch_normalization_cuda_job {
    tn_type type; /* TN_F32, F16, BF16 */
    const void *x;
    void *y;
    const float *scale, *bias, *mean, *variance;
    float epsilon;
    uint32_t count, channels, inner;
    tn_cuda_chain chain;
} tn_batch_normalization_cuda_job;

cudaError_t tn_batch_normalization_cuda_launch(const tn_batch_normalization_cuda_job *job,
                                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

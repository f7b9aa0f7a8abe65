/* SPDX-License-Identifier: Apache-2.0 */
/* What the callbacks of pointwise.h hand to the launches in pointwise.cu. */
#ifndef TN_KIT_CUDA_POINTWISE_POINTWISE_JOB_H
#define TN_KIT_CUDA_POINTWISE_POINTWISE_JOB_H

#include "kit/cuda/pointwise/chain.h"
#include "kit/cuda/walk.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_cuda_pointwise_job {
    tn_type type;   /* of a and y: TN_F32, F16, BF16, I8 */
    tn_type b_type; /* the same, or TN_F32 */
    const void *a, *b;
    void *y;
    float a_scale, b_scale, y_inverse; /* scales of 8-bit numbers, and one over the output's */
    uint32_t combine;                  /* of rows.h */
    tn_cuda_chain chain;               /* a map's first step is itself */
} tn_cuda_pointwise_job;

/* y = chain(a), `count` elements that lie alike. */
cudaError_t tn_cuda_map_launch(const tn_cuda_pointwise_job *job, int64_t count,
                               cudaStream_t stream);
/* y = chain(combine(a, b)); the walk has both inputs and is finished. */
cudaError_t tn_cuda_combine_launch(const tn_cuda_pointwise_job *job, const tn_cuda_walk *walk,
                                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

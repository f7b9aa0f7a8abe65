/* SPDX-License-Identifier: Apache-2.0 */
/* What the callbacks of pointwise.h hand to the launches in pointwise.cu. */
#ifndef TN_KIT_CUDA_POINTWISE_POINTWISE_JOB_H
#define TN_KIT_CUDA_POINTWISE_POINTWISE_JOB_H

#include "kit/cuda/pointwise/chain.h"
#include "kit/cuda/pointwise/elements.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = chain(x), `count` elements that lie alike, of one type: TN_F32, F16, BF16, I8. */
typedef struct tn_cuda_map_job {
    const void *x;
    void *y;
    float x_scale, y_inverse; /* scale of 8-bit numbers, and one over the output's */
    int64_t count;
    tn_cuda_chain chain; /* the map itself is the first step */
} tn_cuda_map_job;
cudaError_t tn_cuda_map_launch(tn_type type, const tn_cuda_map_job *job, cudaStream_t stream);

/* y = chain(combine(a, b)) of two inputs; b's type is that of a and y, or TN_F32. */
typedef struct tn_cuda_combine_job {
    tn_cuda_elements_job elements;
    uint32_t combine; /* of rows.h */
    tn_cuda_chain chain;
} tn_cuda_combine_job;
cudaError_t tn_cuda_combine_launch(tn_type type, tn_type b_type, bool is_wide,
                                   const tn_cuda_combine_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the callbacks of reduce.h and of whole planes (pool.h) hand to the launches in reduce.cu. */
#ifndef TN_KIT_CUDA_REDUCE_REDUCE_JOB_H
#define TN_KIT_CUDA_REDUCE_REDUCE_JOB_H

#include <tenon/kit/lanes.h>
#include "kit/reduce/reduce_kernel.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* outer x count x inner elements become outer x inner. `kind` is TN_REDUCE_SUM and the like of
 * reduce_rows.h, `finish` TN_REDUCE_BY_COUNT and the like of reduce_kernel.h. */
typedef struct tn_cuda_reduce_job {
    tn_type type;  /* TN_F32, F16, BF16, I8 */
    bool is_wider; /* y is of 32-bit floats, x of 16-bit ones */
    const void *x;
    void *y;
    float x_scale, y_inverse; /* of 8-bit numbers: the scale, and one over the output's */
    uint32_t kind, finish;
    tn_lanes lanes;
} tn_cuda_reduce_job;

cudaError_t tn_cuda_reduce_launch(const tn_cuda_reduce_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

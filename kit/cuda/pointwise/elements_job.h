/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of elements.cuh get with a launch. For C, for CUDA C++, and for what is compiled
 * at run time. */
#ifndef TN_KIT_CUDA_POINTWISE_ELEMENTS_JOB_H
#define TN_KIT_CUDA_POINTWISE_ELEMENTS_JOB_H

#ifndef __CUDACC_RTC__
#include <tenon/kit/cuda/divider.h>
#endif

enum { TN_CUDA_ELEMENTS_INPUTS = 8, TN_CUDA_ELEMENTS_RANK = 8, TN_CUDA_ELEMENTS_THREADS = 256 };

/* An output of `count` elements, its axes in the order of memory, and each input's step along them
 * (iteration.h). */
typedef struct tn_cuda_elements_job {
    const void *from[TN_CUDA_ELEMENTS_INPUTS];
    void *to;
    float scales[TN_CUDA_ELEMENTS_INPUTS]; /* of inputs in 8 bits */
    float inverse;                         /* one over the output's scale */
    uint32_t count, rank;
    tn_divider extents[TN_CUDA_ELEMENTS_RANK];
    uint32_t strides[TN_CUDA_ELEMENTS_INPUTS][TN_CUDA_ELEMENTS_RANK];
} tn_cuda_elements_job;

#endif

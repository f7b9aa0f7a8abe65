/* SPDX-License-Identifier: Apache-2.0 */
/* The best elements of lanes, in order: what callbacks hand to sort.cu. */
#ifndef TN_KIT_CUDA_ANY_SORT_JOB_H
#define TN_KIT_CUDA_ANY_SORT_JOB_H

#include "kit/cuda/any/each.h"
#include <tenon/kit/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lanes that are longer go to the processor: each element is compared with all of its lane. */
enum { TN_CUDA_SORT_LONGEST = 16384 };

/* The k best of each lane and where they were; of equal ones the first is better, and NaN is the
 * largest number. */
typedef struct tn_cuda_sort_job {
    const void *x;
    void *values;     /* null: not wanted */
    int64_t *indices; /* null: not wanted */
    tn_type type;
    uint32_t bytes;
    tn_lanes lanes;
    int64_t k;
    bool is_largest;
} tn_cuda_sort_job;
cudaError_t tn_cuda_sort_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

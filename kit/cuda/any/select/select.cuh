/* SPDX-License-Identifier: Apache-2.0 */
/* The device's part of select_job.h: the distance of rows, and what select.cu does for the others.
 */
#ifndef TN_KIT_CUDA_ANY_SELECT_SELECT_CUH
#define TN_KIT_CUDA_ANY_SELECT_SELECT_CUH

#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/select/select_job.h"

static __device__ __forceinline__ int64_t tn_select_pitch(const tn_cuda_select_rows &rows) {
    return rows.is_packed ? *rows.found : rows.capacity;
}

/* select.cu: firsts[i] = the sum of those before it; *found = the sum of all. */
cudaError_t tn_number_parts(int64_t *firsts, int64_t count, int64_t *found, cudaStream_t stream);
/* select.cu: fills firsts, found, sources and numbers. */
cudaError_t tn_select(const tn_cuda_select_job &job, cudaStream_t stream);
/* select.cu: moves the slices. */
cudaError_t tn_pick(const tn_cuda_pick_job &job, cudaStream_t stream);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The device's part of select_job.h: numbers of parts, and the distance of rows. */
#ifndef TN_KIT_CUDA_ANY_SELECT_SELECT_CUH
#define TN_KIT_CUDA_ANY_SELECT_SELECT_CUH

#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/select/select_job.h"

/* firsts[i] = the sum of those before it; *found = the sum of all. One block. */
struct tn_number_parts {
    int64_t *firsts, *found;
    int64_t count;
    __device__ void operator()(int64_t) const {
        const int64_t each = (count + blockDim.x - 1) / blockDim.x;
        const int64_t begin = each * threadIdx.x;
        const int64_t end = begin + each < count ? begin + each : count;
        int64_t own = 0, total = 0;
        for (int64_t i = begin; i < end; i++)
            own += firsts[i];
        int64_t before = tn_block_before(own, &total);
        for (int64_t i = begin; i < end; i++) {
            const int64_t here = firsts[i];
            firsts[i] = before;
            before += here;
        }
        if (threadIdx.x == 0) *found = total;
    }
};
static cudaError_t tn_number_parts_launch(int64_t *firsts, int64_t count, int64_t *found,
                                          cudaStream_t stream) {
    const tn_number_parts function = {firsts, found, count};
    return tn_each_block_launch(function, 1, 512, stream);
}

static __device__ __forceinline__ int64_t tn_select_pitch(const tn_cuda_select_rows &rows) {
    return rows.is_packed ? *rows.found : rows.capacity;
}

/* select.cu: fills firsts, found, sources and numbers. */
cudaError_t tn_select(const tn_cuda_select_job &job, cudaStream_t stream);
/* select.cu: moves the slices. */
cudaError_t tn_pick(const tn_cuda_pick_job &job, cudaStream_t stream);

#endif

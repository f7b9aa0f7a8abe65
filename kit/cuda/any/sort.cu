/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of sort_job.h: a block a lane; an element's rank is the number of those that are
 * better, which a thread counts. Keys are taken from the caches, a piece of the lane at a time from
 * shared memory.
 */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/sort_job.h"

namespace {

enum { PIECE = 1024 };

struct sort {
    tn_cuda_sort_job job;

    __device__ __forceinline__ uint64_t key_of(int64_t first, int64_t i) const {
        const uint64_t key = tn_any_key(job.x, job.type, first + i * job.lanes.inner);
        return job.is_largest ? key : ~key; /* the largest is the best */
    }

    __device__ void operator()(int64_t lane) const {
        __shared__ uint64_t keys[PIECE];
        const int64_t outer = lane / job.lanes.inner, inner = lane % job.lanes.inner;
        const int64_t first = outer * job.lanes.count * job.lanes.inner + inner;
        const int64_t to = outer * job.k * job.lanes.inner + inner, count = job.lanes.count;
        /* all threads go round as often, for they share the pieces */
        for (int64_t begin = 0; begin < count; begin += blockDim.x) {
            const int64_t i = begin + threadIdx.x;
            const uint64_t own = i < count ? key_of(first, i) : 0;
            int64_t position = 0;
            for (int64_t piece = 0; piece < count; piece += PIECE) {
                const int64_t length = count - piece < PIECE ? count - piece : PIECE;
                __syncthreads(); /* what was there has been read */
                for (int64_t k = threadIdx.x; k < length; k += blockDim.x)
                    keys[k] = key_of(first, piece + k);
                __syncthreads();
                for (int64_t k = 0; k < length; k++)
                    position += keys[k] > own || (keys[k] == own && piece + k < i);
            }
            if (i >= count || position >= job.k) continue;
            const int64_t at = to + position * job.lanes.inner;
            if (job.values)
                tn_any_copy(job.values, at, job.x, first + i * job.lanes.inner, job.bytes);
            if (job.indices) job.indices[at] = i;
        }
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_sort_launch(const void *user, cudaStream_t stream) {
    const sort function = {*(const tn_cuda_sort_job *)user};
    const tn_lanes &lanes = function.job.lanes;
    return tn_each_block_launch(function, lanes.outer * lanes.inner, lanes.count, stream);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Attention's outputs present_key and present_value: the past, and what is new behind it. */
#include "attention/cuda/cuda_attention.h"
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>

namespace {

enum { THREADS = 256 };
const int64_t MOST_BLOCKS = 1 << 16;

template <typename T> __global__ void __launch_bounds__(THREADS) write(const tn_cuda_present job) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < job.elements; at += step) {
        const int64_t row = at / job.depth, head = row / job.keys;
        const int key = (int)(row % job.keys), i = (int)(at % job.depth);
        const T *from = key < job.past_keys
                            ? (const T *)job.past + (head * job.past_keys + key) * job.depth
                            : (const T *)job.from + head / job.kv_heads * job.step.batch +
                                  head % job.kv_heads * job.step.head +
                                  (key - job.past_keys) * job.step.position;
        ((T *)job.to)[at] = from[i];
    }
}

} // namespace

extern "C" cudaError_t tn_cuda_present_write(const tn_cuda_present *job, cudaStream_t stream) {
    const dim3 blocks(tn_cuda_blocks(job->elements, THREADS, MOST_BLOCKS));
    if (job->element_bytes == 2)
        return tn_cuda_launch_early(write<uint16_t>, blocks, dim3(THREADS), 0, stream, *job);
    return tn_cuda_launch_early(write<uint32_t>, blocks, dim3(THREADS), 0, stream, *job);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes to one element each. Lanes of neighbours are a warp's each, or a block's where they are
 * long. Lanes beside each other: a block does 32 packs of them, eight threads of which share the
 * elements.
 */
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/reduce/reduce_job.h"

#include <math.h>

namespace {

enum { WARP = 32, WARPS = 8, LONGEST_OF_A_WARP = 2048, AHEAD = 8 };
const int64_t MOST_BLOCKS = 1 << 20;

__device__ __forceinline__ float begin(uint32_t kind) {
    return kind == TN_REDUCE_MAX ? -INFINITY : kind == TN_REDUCE_MIN ? INFINITY : 0.0f;
}

/* One more element. */
__device__ __forceinline__ float take(uint32_t kind, float result, float x) {
    switch (kind) {
    case TN_REDUCE_SUM_SQUARE:
        return fmaf(x, x, result);
    case TN_REDUCE_SUM_ABSOLUTE:
        return result + fabsf(x);
    case TN_REDUCE_MAX:
        return x > result || isnan(x) ? x : result;
    case TN_REDUCE_MIN:
        return x < result || isnan(x) ? x : result;
    default:
        return result + x;
    }
}

/* What two threads have. */
__device__ __forceinline__ float join(uint32_t kind, float a, float b) {
    return kind == TN_REDUCE_MAX || kind == TN_REDUCE_MIN ? take(kind, a, b) : a + b;
}

__device__ __forceinline__ float finish(const tn_cuda_reduce_job &job, float result) {
    if (job.finish == TN_REDUCE_BY_COUNT) return __fdiv_rn(result, (float)job.lanes.count);
    return job.finish == TN_REDUCE_ROOT ? __fsqrt_rn(result) : result;
}

__device__ __forceinline__ float join_warp(uint32_t kind, float result) {
    for (int step = WARP / 2; step > 0; step /= 2)
        result = join(kind, result, __shfl_xor_sync(0xffffffffu, result, step));
    return result;
}

/* Stores a result as y has it. */
template <typename T>
__device__ __forceinline__ void store(const tn_cuda_reduce_job &job, int64_t at, float result) {
    result = finish(job, result);
    if (sizeof(T) == 2 && job.is_wider)
        ((float *)job.y)[at] = result;
    else
        tn_number_store((T *)job.y + at, result, job.y_inverse);
}

template <typename T>
__global__ void __launch_bounds__(WARP *WARPS)
    warp_lanes(const __grid_constant__ tn_cuda_reduce_job job) {
    const int64_t count = job.lanes.count, step = (int64_t)gridDim.x * WARPS;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.y; row < job.lanes.outer;
         row += step) {
        const T *from = (const T *)job.x + row * count;
        float result = begin(job.kind);
        for (int64_t i = threadIdx.x; i < count; i += WARP)
            result = take(job.kind, result, tn_number_load(from[i], job.x_scale));
        result = join_warp(job.kind, result);
        if (threadIdx.x == 0) store<T>(job, row, result);
    }
}

template <typename T>
__global__ void __launch_bounds__(WARP *WARPS)
    block_lanes(const __grid_constant__ tn_cuda_reduce_job job) {
    __shared__ float shared[WARPS];
    const int64_t count = job.lanes.count;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t row = blockIdx.x; row < job.lanes.outer; row += gridDim.x) {
        const T *from = (const T *)job.x + row * count;
        float result = begin(job.kind);
        for (int64_t i = threadIdx.y * WARP + threadIdx.x; i < count; i += WARP * WARPS)
            result = take(job.kind, result, tn_number_load(from[i], job.x_scale));
        result = join_warp(job.kind, result);
        if (threadIdx.x == 0) shared[threadIdx.y] = result;
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            for (int w = 1; w < WARPS; w++)
                result = join(job.kind, result, shared[w]);
            store<T>(job, row, result);
        }
        __syncthreads();
    }
}

/* One more element of each of a pack's lanes; `kind` is known where sums are taken. */
template <typename T>
__device__ __forceinline__ void take_pack(uint32_t kind, float scale, const tn_pack<T> &pack,
                                          float (&result)[tn_pack<T>::count]) {
#pragma unroll
    for (int k = 0; k + 3 < tn_pack<T>::count; k += 4) {
        float v[4];
        tn_pack_read(pack, k, scale, v);
#pragma unroll
        for (int n = 0; n < 4; n++)
            result[k + n] = take(kind, result[k + n], v[n]);
    }
}

/* Of elements i, i + WARPS and so on, AHEAD of them are loaded before the first one is added: one
 * trip to memory for the planes at the end of most networks. */
template <typename T>
__device__ __forceinline__ void add_packs(const T *from, int64_t i, int64_t count, int64_t inner,
                                          float scale, float (&result)[tn_pack<T>::count]) {
    for (; i < count; i += WARPS * AHEAD) {
        tn_pack<T> packs[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (i + a * WARPS < count) packs[a] = tn_pack_load(from + (i + a * WARPS) * inner);
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (i + a * WARPS < count) take_pack<T>(TN_REDUCE_SUM, scale, packs[a], result);
    }
}

template <typename T, int EACH>
__global__ void __launch_bounds__(WARP *WARPS)
    columns(const __grid_constant__ tn_cuda_reduce_job job, int64_t groups) {
    __shared__ float shared[WARPS][EACH][WARP];
    const int64_t blocks = (groups + WARP - 1) / WARP, inner = job.lanes.inner;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t t = blockIdx.x; t < blocks * job.lanes.outer; t += gridDim.x) {
        const int64_t outer = t / blocks, group = t % blocks * WARP + threadIdx.x;
        const bool is_there = group < groups;
        float result[EACH];
        for (int k = 0; k < EACH; k++)
            result[k] = begin(job.kind);
        const T *from = (const T *)job.x + outer * job.lanes.count * inner + group * EACH;
        const int64_t count = is_there ? job.lanes.count : 0;
        int64_t i = threadIdx.y;
        if constexpr (EACH == 1) {
            for (; i < count; i += WARPS)
                result[0] = take(job.kind, result[0], tn_number_load(from[i * inner], job.x_scale));
        } else if (job.kind == TN_REDUCE_SUM) {
            add_packs<T>(from, i, count, inner, job.x_scale, result);
        } else {
            for (; i < count; i += WARPS)
                take_pack<T>(job.kind, job.x_scale, tn_pack_load(from + i * inner), result);
        }
        for (int k = 0; k < EACH; k++)
            shared[threadIdx.y][k][threadIdx.x] = result[k];
        __syncthreads();
        for (int k = threadIdx.y; is_there && k < EACH; k += WARPS) {
            float all = shared[0][k][threadIdx.x];
            for (int w = 1; w < WARPS; w++)
                all = join(job.kind, all, shared[w][k][threadIdx.x]);
            store<T>(job, outer * inner + group * EACH + k, all);
        }
        __syncthreads();
    }
}

template <typename T, int EACH>
cudaError_t launch_columns(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    const int64_t groups = job->lanes.inner / EACH, blocks = (groups + WARP - 1) / WARP;
    return tn_cuda_launch_early(columns<T, EACH>,
                                tn_cuda_blocks(blocks * job->lanes.outer, 1, MOST_BLOCKS),
                                dim3(WARP, WARPS), 0, stream, *job, groups);
}

template <typename T> cudaError_t launch_as(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    constexpr int EACH = tn_pack<T>::count;
    const dim3 threads(WARP, WARPS);
    const int64_t outer = job->lanes.outer;
    if (job->lanes.inner != 1 && job->lanes.inner % EACH == 0)
        return launch_columns<T, EACH>(job, stream);
    if (job->lanes.inner != 1) return launch_columns<T, 1>(job, stream);
    if (job->lanes.count <= LONGEST_OF_A_WARP)
        return tn_cuda_launch_early(warp_lanes<T>, tn_cuda_blocks(outer, WARPS, MOST_BLOCKS),
                                    threads, 0, stream, *job);
    return tn_cuda_launch_early(block_lanes<T>, tn_cuda_blocks(outer, 1, MOST_BLOCKS), threads, 0,
                                stream, *job);
}

} // namespace

extern "C" cudaError_t tn_cuda_reduce_launch(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return launch_as<float>(job, stream);
    case TN_F16:
        return launch_as<__half>(job, stream);
    case TN_BF16:
        return launch_as<__nv_bfloat16>(job, stream);
    default:
        return launch_as<int8_t>(job, stream);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes to one element each. Lanes of neighbours are a warp's each, or a block's where they are
 * long. Lanes beside each other: a block does some packs of them, the fewer the longer they are, so
 * that many threads share the elements; and where so few blocks would be busy, the blocks of a
 * cluster share them, too.
 */
#include "kit/cuda/cluster.cuh"
#include "kit/cuda/cluster_launch.cuh"
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/reduce/reduce_job.h"

#include <math.h>

namespace {

enum { WARP = 32, WARPS = 8, LONGEST_OF_A_WARP = 2048, AHEAD = 8 };
const int64_t MOST_BLOCKS = 1 << 20;

/* Lanes beside each other: bytes of a row of elements that a block reads at least (a sector of the
 * cache), blocks that are enough for the largest GPUs, rows of a grid, blocks of a cluster. */
enum { THREADS = WARP * WARPS, LEAST_BYTES = 32, ENOUGH_BLOCKS = 256, MOST_ROWS = 65535 };
enum { MOST_SPLITS = 8 };

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

/* Elements first, first + step and so on of lanes beside each other, of EACH at once. AHEAD of them
 * are loaded before the first one is added: one trip to memory for the planes at the end of most
 * networks. */
template <typename T, int EACH>
__device__ __forceinline__ void add_packs(uint32_t kind, const T *from, int64_t first, int64_t step,
                                          const tn_lanes &lanes, float scale,
                                          float (&result)[EACH]) {
    for (int64_t i = first; i < lanes.count; i += step * AHEAD) {
        tn_pack<T, EACH> packs[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (i + a * step < lanes.count)
                packs[a] = tn_pack_load<T, EACH>(from + (i + a * step) * lanes.inner);
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (i + a * step >= lanes.count) break;
#pragma unroll
            for (int k = 0; k + 3 < EACH; k += 4) {
                float v[4];
                tn_pack_read(packs[a], k, scale, v);
#pragma unroll
                for (int n = 0; n < 4; n++)
                    result[k + n] = take(kind, result[k + n], v[n]);
            }
        }
    }
}
template <typename T>
__device__ __forceinline__ void add_packs(uint32_t kind, const T *from, int64_t first, int64_t step,
                                          const tn_lanes &lanes, float scale, float (&result)[1]) {
#pragma unroll 4
    for (int64_t i = first; i < lanes.count; i += step)
        result[0] = take(kind, result[0], tn_number_load(from[i * lanes.inner], scale));
}

/* What a thread of `threads` has of a lane of neighbours, by EACH of them. */
template <typename T, int EACH>
__device__ __forceinline__ float add_lane(const tn_cuda_reduce_job &job, int64_t row, int thread,
                                          int threads) {
    const tn_lanes lanes = {1, job.lanes.count / EACH, EACH};
    const T *from = (const T *)job.x + row * job.lanes.count;
    float result[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++)
        result[k] = begin(job.kind);
    if (job.kind == TN_REDUCE_SUM) /* known to the compiler */
        add_packs(TN_REDUCE_SUM, from, thread, threads, lanes, job.x_scale, result);
    else
        add_packs(job.kind, from, thread, threads, lanes, job.x_scale, result);
#pragma unroll
    for (int k = 1; k < EACH; k++)
        result[0] = join(job.kind, result[0], result[k]);
    return join_warp(job.kind, result[0]);
}

template <typename T, int EACH>
__global__ void __launch_bounds__(THREADS)
    warp_lanes(const __grid_constant__ tn_cuda_reduce_job job) {
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.y; row < job.lanes.outer;
         row += (int64_t)gridDim.x * WARPS) {
        const float result = add_lane<T, EACH>(job, row, (int)threadIdx.x, WARP);
        if (threadIdx.x == 0) store<T>(job, row, result);
    }
}

template <typename T, int EACH>
__global__ void __launch_bounds__(THREADS)
    block_lanes(const __grid_constant__ tn_cuda_reduce_job job) {
    __shared__ float shared[WARPS];
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t row = blockIdx.x; row < job.lanes.outer; row += gridDim.x) {
        float result =
            add_lane<T, EACH>(job, row, (int)(threadIdx.y * WARP + threadIdx.x), THREADS);
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

/* A block's share of lanes beside each other: 2^shift packs of them, of `groups` in `blocks`
 * blocks; `splits` blocks of a cluster share their elements. */
struct shares {
    int shift, splits;
    int64_t groups, blocks;
};

/* What the threads of a block have of the same lanes, `across` packs of EACH: joined in their
 * order, in shared[0 ...], pack by pack. */
template <int EACH>
__device__ __forceinline__ void join_block(uint32_t kind, int across, float (&result)[EACH],
                                           float (*warps)[EACH][WARP], float *joined) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        for (int step = WARP / 2; step >= across; step /= 2)
            result[k] = join(kind, result[k], __shfl_xor_sync(0xffffffffu, result[k], step));
        if (lane < across) warps[warp][k][lane] = result[k];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < across * EACH; i += THREADS) {
        const int k = i % EACH, pack = i / EACH;
        float all = warps[0][k][pack];
        for (int w = 1; w < WARPS; w++)
            all = join(kind, all, warps[w][k][pack]);
        joined[i] = all;
    }
}

template <typename T, int EACH>
__global__ void __launch_bounds__(THREADS)
    columns(const __grid_constant__ tn_cuda_reduce_job job, const __grid_constant__ shares s) {
    __shared__ float warps[WARPS][EACH][WARP], joined[WARP * EACH];
    const int across = 1 << s.shift, down = THREADS >> s.shift;
    const int pack = (int)threadIdx.x & (across - 1);
    const int64_t first = (int64_t)blockIdx.x * down + (threadIdx.x >> s.shift);
    const int64_t step = (int64_t)down * s.splits, inner = job.lanes.inner;
    const bool is_split = s.splits > 1;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t t = blockIdx.y; t < s.blocks * job.lanes.outer; t += gridDim.y) {
        const int64_t outer = job.lanes.outer == 1 ? 0 : t / s.blocks;
        const int64_t group = (t - outer * s.blocks) << s.shift; /* the block's first */
        float result[EACH];
        for (int k = 0; k < EACH; k++)
            result[k] = begin(job.kind);
        const T *from = (const T *)job.x + outer * job.lanes.count * inner + (group + pack) * EACH;
        if (group + pack >= s.groups)
            ;                               /* past the last one */
        else if (job.kind == TN_REDUCE_SUM) /* known to the compiler */
            add_packs(TN_REDUCE_SUM, from, first, step, job.lanes, job.x_scale, result);
        else
            add_packs(job.kind, from, first, step, job.lanes, job.x_scale, result);
        join_block(job.kind, across, result, warps, joined);
        if (is_split) tn_cuda_cluster_sync();
        __syncthreads();
        for (int i = threadIdx.x; blockIdx.x == 0 && i < across * EACH; i += THREADS) {
            if (group + i / EACH >= s.groups) break;
            float all = joined[i];
            for (int other = 1; other < s.splits; other++)
                all = join(job.kind, all, tn_cuda_cluster_load(joined + i, (uint32_t)other));
            store<T>(job, outer * inner + group * EACH + i, all);
        }
        if (is_split) tn_cuda_cluster_sync(); /* the first block reads the others' memory */
        __syncthreads();
    }
}

/* As few packs a block as make a thread's elements one trip to memory, while there are not enough
 * blocks; then blocks share the elements. */
template <typename T, int EACH> shares share_out(const tn_cuda_reduce_job *job) {
    shares s = {5, 1, job->lanes.inner / EACH, 0};
    const int64_t count = job->lanes.count, bytes = EACH * (int64_t)sizeof(T);
    const auto blocks = [&] { return (s.groups + (1 << s.shift) - 1) >> s.shift; };
    const auto trip = [&] { return (int64_t)(THREADS >> s.shift) * AHEAD * s.splits; };
    while (s.shift > 0 && 1 << (s.shift - 1) >= s.groups)
        s.shift--;
    while (bytes << s.shift > LEAST_BYTES && count > trip() &&
           blocks() * job->lanes.outer < ENOUGH_BLOCKS)
        s.shift--;
    while (s.splits < MOST_SPLITS && count > trip() &&
           blocks() * job->lanes.outer * s.splits * 2 <= ENOUGH_BLOCKS)
        s.splits *= 2;
    if (s.splits > 1 && tn_cuda_cluster_processors() == 0) s.splits = 1;
    s.blocks = blocks();
    return s;
}

template <typename T, int EACH>
cudaError_t launch_columns(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    const shares s = share_out<T, EACH>(job);
    const dim3 grid((unsigned)s.splits, tn_cuda_blocks(s.blocks * job->lanes.outer, 1, MOST_ROWS));
    if (s.splits > 1)
        return tn_cuda_launch_cluster(columns<T, EACH>, grid, THREADS, 0, true, stream, *job, s);
    return tn_cuda_launch_early(columns<T, EACH>, grid, dim3(THREADS), 0, stream, *job, s);
}

template <typename T, int EACH>
cudaError_t launch_rows(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    const bool is_long = job->lanes.count > LONGEST_OF_A_WARP;
    return tn_cuda_launch_early(is_long ? block_lanes<T, EACH> : warp_lanes<T, EACH>,
                                tn_cuda_blocks(job->lanes.outer, is_long ? 1 : WARPS, MOST_BLOCKS),
                                dim3(WARP, WARPS), 0, stream, *job);
}

template <typename T> cudaError_t launch_as(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    constexpr int EACH = tn_pack<T>::count;
    const bool is_aligned = (uintptr_t)job->x % 16 == 0;
    if (job->lanes.inner != 1)
        return is_aligned && job->lanes.inner % EACH == 0 ? launch_columns<T, EACH>(job, stream)
                                                          : launch_columns<T, 1>(job, stream);
    return is_aligned && job->lanes.count % EACH == 0 && job->lanes.count > WARP * EACH / 2
               ? launch_rows<T, EACH>(job, stream)
               : launch_rows<T, 1>(job, stream);
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

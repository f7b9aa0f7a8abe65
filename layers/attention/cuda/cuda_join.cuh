/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of Attention where rows are few: what the warps of a block, and the blocks of a cluster,
 * have of the same rows, each of a part of the keys. Private to cuda_online.cuh.
 */
#ifndef TN_LAYERS_ATTENTION_CUDA_CUDA_JOIN_CUH
#define TN_LAYERS_ATTENTION_CUDA_CUDA_JOIN_CUH

#include "attention/cuda/cuda_attention.h"
#include "attention/cuda/cuda_score.cuh"
#include "attention/cuda/cuda_tile.cuh"
#include "kit/cuda/cluster.cuh"

namespace {

enum { WARPS = 4, THREADS = WARPS * 32, ROWS = 16 /* of a warp */ };

enum { MOST_BLOCKS = 8 /* of a cluster */ };

/* Numbers of a part of a row: its sums, its largest score and its total. */
template <int D> constexpr int PART = D + 2;

/* Where a row of y begins; null: there is no such row. */
template <typename T>
__device__ __forceinline__ T *result_row(const tn_cuda_attention &job, int batch, int head,
                                         int row) {
    if (row >= job.group * job.queries) return nullptr;
    return (T *)job.y + batch * job.y_step.batch +
           (head * job.group + row / job.queries) * job.y_step.head +
           row % job.queries * job.y_step.position;
}

template <typename M, int D, typename F>
__device__ __forceinline__ void store_parts(const rows_state<F, D> &rows, float *shared) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float *own = shared + (warp * ROWS + (lane >> 2) + 8 * half) * PART<D>;
#pragma unroll
        for (int d = 0; d < D / 8; d++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                own[tile<M, D>::column(d, e, lane & 3)] = rows.sums[d][2 * half + e];
        if ((lane & 3) == 0) own[D] = rows.largest[half], own[D + 1] = rows.total[half];
    }
}

/* One column of a row of `count` parts, MOST at most, whose numbers `load(part, index)` answers:
 * all are asked for at once. */
template <typename F, int D, int MOST, typename Load>
__device__ __forceinline__ float3 join(int count, int column, const Load &load) {
    float scores[MOST], totals[MOST], sums[MOST], largest = -INFINITY, total = 0, sum = 0;
#pragma unroll
    for (int part = 0; part < MOST; part++) {
        const bool is_there = part < count;
        scores[part] = is_there ? load(part, D) : -INFINITY;
        totals[part] = is_there ? load(part, D + 1) : 0.0f;
        sums[part] = is_there ? load(part, column) : 0.0f;
    }
#pragma unroll
    for (int part = 0; part < MOST; part++)
        largest = fmaxf(largest, scores[part]);
    const float offset = largest == -INFINITY ? 0.0f : largest;
#pragma unroll
    for (int part = 0; part < MOST; part++) {
        const float factor = F::powers::of(scores[part] - offset);
        total += factor * totals[part]; /* of scores that are no numbers it is none either */
        sum += factor * sums[part];
    }
    return make_float3(sum, largest, total);
}

/* The rows of all warps and, where more than one block shares the keys, of all blocks; each block
 * finishes some elements of them. `shared` has the warps' parts, and behind them the block's. */
template <typename M, int D, typename F>
__device__ __forceinline__ void store_joined(const tn_cuda_attention &job, int batch, int head,
                                             int first, const rows_state<F, D> &rows,
                                             float *shared) {
    typedef typename F::type type;
    const int blocks = (int)gridDim.x, count = min(ROWS, job.group * job.queries - first) * D;
    float *const own = shared + WARPS * ROWS * PART<D>;
    const auto join_warps = [&](int at) {
        return join<F, D, WARPS>(WARPS, at % D, [&](int part, int index) {
            return shared[(part * ROWS + at / D) * PART<D> + index];
        });
    };
    const auto store = [&](int at, const float3 &row) {
        type *y = result_row<type>(job, batch, head, first + at / D);
        if (at % D < job.v_depth) tn_number_store(y + at % D, row.z == 0 ? 0.0f : row.x / row.z, 0);
    };
    store_parts<M, D, F>(rows, shared);
    __syncthreads();
    if (blocks == 1) {
        for (int at = threadIdx.x; at < count; at += THREADS)
            store(at, join_warps(at));
        return;
    }
    for (int at = threadIdx.x; at < count; at += THREADS) {
        const float3 row = join_warps(at);
        float *to = own + at / D * PART<D>;
        to[at % D] = row.x;
        if (at % D == 0) to[D] = row.y, to[D + 1] = row.z;
    }
    tn_cuda_cluster_sync();
    for (int at = (int)(blockIdx.x * THREADS + threadIdx.x); at < count; at += blocks * THREADS)
        store(at, join<F, D, MOST_BLOCKS>(blocks, at % D, [&](int part, int index) {
                  return tn_cuda_cluster_load(own + at / D * PART<D> + index, (uint32_t)part);
              }));
    tn_cuda_cluster_sync(); /* the others read this block's memory */
}

} // namespace

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by an online softmax (Milakov and Gimelshein, "Online normalizer calculation for
 * softmax", 2018; Dao, "FlashAttention-2", 2023). A block of four warps has the queries of one head
 * of keys, those of all heads of its group as rows of one matrix; tiles of keys and values lie in
 * shared memory, the next one is copied while one is multiplied. Where rows are many each warp has
 * 16 of them; where they are few all warps have the same 16, each a fourth of every tile's keys,
 * and what they have is joined at the end. A file a type of products defines what it launches.
 */
#ifndef TN_LAYERS_ATTENTION_CUDA_CUDA_ONLINE_CUH
#define TN_LAYERS_ATTENTION_CUDA_CUDA_ONLINE_CUH

#include "attention/cuda/cuda_attention.h"
#include "attention/cuda/cuda_score.cuh"
#include "attention/cuda/cuda_tile.cuh"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/launch.cuh>

namespace {

enum { WARPS = 4, THREADS = WARPS * 32, ROWS = 16 /* of a warp */ };

/* Powers of the softmax. Where products are rounded they have base 2, one instruction each, which
 * is right to some 2^-22, and scores are counted in units of log(2). */
template <typename M> struct power {
    static constexpr float UNIT = 1.4426950408889634f;
    static __device__ __forceinline__ float of(float score) {
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(score));
        return y;
    }
};
template <> struct power<float> {
    static constexpr float UNIT = 1;
    static __device__ __forceinline__ float of(float score) { return expf(score); }
};

template <typename M, int D, bool IS_SHARED> struct form {
    typedef tile<M, D> tiles;
    typedef power<M> powers;
    typedef typename tiles::type type;
    enum {
        KEYS = D > 128 ? 32 : 64, /* of a tile */
        OWN = IS_SHARED ? KEYS / WARPS : KEYS,
        NT = OWN / 8,
        QUERIES = IS_SHARED ? ROWS : ROWS * WARPS,
        PITCH = tiles::PITCH,
        STAGES = D * (int)sizeof(type) > 256 ? 1 : 2,
        TILE = KEYS * PITCH,
        BYTES = (QUERIES * PITCH + 2 * STAGES * TILE) * (int)sizeof(type),
        EACH = 16 / (int)sizeof(type),
        PACKS = D / EACH,
        BLOCKS = D <= 32 && sizeof(type) == 2 && !IS_SHARED ? 6 : 1 /* of a multiprocessor */
    };
};

/* `rows` rows of up to D elements to shared memory, zeros behind them and for rows that are null;
 * `find` answers where a row begins. */
template <typename F, typename Find>
__device__ __forceinline__ void load_rows(typename F::type *to, int rows, int depth,
                                          bool is_aligned, const Find &find) {
    typedef typename F::type type;
    for (int at = threadIdx.x; at < rows * F::PACKS; at += THREADS) {
        const int row = at / F::PACKS, first = at % F::PACKS * F::EACH;
        type *pack = to + row * F::PITCH + first;
        const type *from = find(row);
        if (from && is_aligned && first < depth) {
            tn_copy_sixteen(pack, from + first);
            continue;
        }
#pragma unroll
        for (int i = 0; i < F::EACH; i++)
            pack[i] = from && first + i < depth ? from[first + i] : type(0.0f);
    }
}

/* A tile of keys and values. */
template <typename F>
__device__ __forceinline__ void load_tile(const tn_cuda_attention &job, int batch, int head,
                                          int first, typename F::type *to) {
    typedef typename F::type type;
    const int64_t of_past = ((int64_t)batch * job.kv_heads + head) * job.past;
    const auto find = [&](const void *now, const void *past, const tn_cuda_heads &step, int depth,
                          int row) -> const type * {
        const int key = first + row;
        if (key >= job.keys) return nullptr;
        return key < job.past ? (const type *)past + (of_past + key) * depth
                              : (const type *)now + batch * step.batch + head * step.head +
                                    (key - job.past) * step.position;
    };
    load_rows<F>(to, F::KEYS, job.depth, job.is_aligned,
                 [&](int row) { return find(job.k, job.past_k, job.k_step, job.depth, row); });
    load_rows<F>(to + F::TILE, F::KEYS, job.v_depth, job.is_aligned,
                 [&](int row) { return find(job.v, job.past_v, job.v_step, job.v_depth, row); });
}

/* What a row sees, in its state and the block's bounds. */
template <typename F, int D>
__device__ __forceinline__ void begin_rows(const tn_cuda_attention &job, int batch, int head,
                                           int first, rows_state<F, D> &rows, int (&bounds)[2]) {
    const int lane = threadIdx.x & 31;
    int begin = job.keys, end = 0;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = first + (lane >> 2) + 8 * half;
        const int query_head = head * job.group + row / job.queries;
        const seen range = seen_of(job, batch, row);
        rows.range[half] = range;
        rows.mask[half] = batch * job.mask_step[0] + query_head * job.mask_step[1] +
                          row % job.queries * job.mask_step[2];
        rows.largest[half] = -INFINITY;
        rows.total[half] = 0;
        if (range.begin < range.end) begin = min(begin, range.begin), end = max(end, range.end);
    }
#pragma unroll
    for (int d = 0; d < D / 8; d++)
        rows.sums[d][0] = rows.sums[d][1] = rows.sums[d][2] = rows.sums[d][3] = 0;
    begin = __reduce_min_sync(0xffffffffu, begin);
    end = __reduce_max_sync(0xffffffffu, end);
    if (lane == 0) atomicMin(&bounds[0], begin), atomicMax(&bounds[1], end);
}

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
__device__ __forceinline__ void store_own(const tn_cuda_attention &job, int batch, int head,
                                          int first, const rows_state<F, D> &rows) {
    typedef typename F::type type;
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        type *y = result_row<type>(job, batch, head, first + (lane >> 2) + 8 * half);
        const float inverse = rows.total[half] == 0 ? 0.0f : 1.0f / rows.total[half];
        if (!y) continue;
#pragma unroll
        for (int d = 0; d < D / 8; d++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = tile<M, D>::column(d, e, lane & 3);
                if (column < job.v_depth)
                    tn_number_store(y + column, rows.sums[d][2 * half + e] * inverse, 0);
            }
    }
}

/* What the warps have of the same rows, by way of shared memory. */
template <typename M, int D, typename F>
__device__ __forceinline__ void store_joined(const tn_cuda_attention &job, int batch, int head,
                                             int first, const rows_state<F, D> &rows,
                                             float *shared) {
    typedef typename F::type type;
    enum { PITCH = D + 2 }; /* a row's sums, its largest score and its total */
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float *own = shared + (warp * ROWS + (lane >> 2) + 8 * half) * PITCH;
#pragma unroll
        for (int d = 0; d < D / 8; d++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                own[tile<M, D>::column(d, e, lane & 3)] = rows.sums[d][2 * half + e];
        if ((lane & 3) == 0) own[D] = rows.largest[half], own[D + 1] = rows.total[half];
    }
    __syncthreads();
    for (int at = threadIdx.x; at < ROWS * D; at += THREADS) {
        const float *from = shared + at / D * PITCH;
        type *y = result_row<type>(job, batch, head, first + at / D);
        float largest = -INFINITY, total = 0, sum = 0;
        if (!y || at % D >= job.v_depth) continue;
        for (int w = 0; w < WARPS; w++)
            largest = fmaxf(largest, from[w * ROWS * PITCH + D]);
        const float offset = largest == -INFINITY ? 0.0f : largest;
        for (int w = 0; w < WARPS; w++) { /* a total of scores that are no numbers is none either */
            const float factor = F::powers::of(from[w * ROWS * PITCH + D] - offset);
            total += factor * from[w * ROWS * PITCH + D + 1];
            sum += factor * from[w * ROWS * PITCH + at % D];
        }
        tn_number_store(y + at % D, total == 0 ? 0.0f : sum / total, 0);
    }
}

template <typename M, int D, bool IS_SHARED>
__global__ void __launch_bounds__(THREADS, form<M, D, IS_SHARED>::BLOCKS)
    online(const __grid_constant__ tn_cuda_attention job) {
    typedef form<M, D, IS_SHARED> F;
    typedef typename F::type type;
    extern __shared__ uint4 memory[];
    __shared__ int bounds[2];
    type *queries = (type *)memory, *tiles = queries + F::QUERIES * F::PITCH;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int batch = (int)blockIdx.y / job.kv_heads, head = (int)blockIdx.y % job.kv_heads;
    const int first_row = (int)blockIdx.x * F::QUERIES, own_row = IS_SHARED ? 0 : warp * ROWS;
    const int own_key = IS_SHARED ? warp * F::OWN : 0;
    if (threadIdx.x == 0) bounds[0] = job.keys, bounds[1] = 0;
    if (job.lengths) tn_cuda_wait_for_last(); /* else all ranges are known before */
    __syncthreads();
    rows_state<F, D> rows;
    begin_rows<F, D>(job, batch, head, first_row + own_row, rows, bounds);
    __syncthreads();
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    load_rows<F>(queries, F::QUERIES, job.depth, job.is_q_aligned, [&](int row) -> const type * {
        const int index = first_row + row;
        if (index >= job.group * job.queries) return nullptr;
        return (const type *)job.q + batch * job.q_step.batch +
               (head * job.group + index / job.queries) * job.q_step.head +
               index % job.queries * job.q_step.position;
    });
    const int end = bounds[1];
    int first = bounds[0] / F::KEYS * F::KEYS, stage = 0;
#pragma unroll
    for (int ahead = 0; ahead < F::STAGES; ahead++) {
        if (first + ahead * F::KEYS < end)
            load_tile<F>(job, batch, head, first + ahead * F::KEYS, tiles + ahead * 2 * F::TILE);
        tn_copy_group();
    }
    for (; first < end; first += F::KEYS) {
        type *keys = tiles + stage * 2 * F::TILE, *values = keys + F::TILE;
        const int next = first + F::STAGES * F::KEYS;
        tn_copy_wait_for_group<F::STAGES - 1>();
        __syncthreads();
        float s[F::NT][4];
#pragma unroll
        for (int n = 0; n < F::NT; n++)
            s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0;
        F::tiles::score(queries + own_row * F::PITCH, keys + own_key * F::PITCH, s);
        finish_scores<F, D>(job, first + own_key, rows, s);
        soften<F, D>(rows, s);
        F::tiles::add(s, values + own_key * F::PITCH, rows.sums);
        if (next < end) {
            __syncthreads();
            load_tile<F>(job, batch, head, next, keys);
        }
        tn_copy_group();
        if (F::STAGES == 2) stage = 1 - stage;
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        rows.total[half] += __shfl_xor_sync(0xffffffffu, rows.total[half], 1);
        rows.total[half] += __shfl_xor_sync(0xffffffffu, rows.total[half], 2);
    }
    if (!IS_SHARED) {
        store_own<M, D, F>(job, batch, head, first_row + own_row, rows);
        return;
    }
    tn_copy_wait();  /* of queries, where there was no tile */
    __syncthreads(); /* all have read the tiles */
    store_joined<M, D, F>(job, batch, head, first_row, rows, (float *)memory);
}

template <typename M, int D, bool IS_SHARED>
cudaError_t launch_form(const tn_cuda_attention &job, cudaStream_t stream) {
    typedef form<M, D, IS_SHARED> F;
    enum { JOINED = WARPS * ROWS * (D + 2) * (int)sizeof(float) };
    const size_t bytes =
        IS_SHARED && (int)JOINED > (int)F::BYTES ? (size_t)JOINED : (size_t)F::BYTES;
    const int rows = job.group * job.queries;
    const dim3 grid((unsigned)((rows + F::QUERIES - 1) / F::QUERIES),
                    (unsigned)(job.batch * job.kv_heads));
    const cudaError_t error = cudaFuncSetAttribute(
        online<M, D, IS_SHARED>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    return tn_cuda_launch_early(online<M, D, IS_SHARED>, grid, dim3(THREADS), bytes, stream, job);
}

/* Rows are shared out where blocks of 64 of them would not fill the GPU. */
template <typename M, int D>
cudaError_t launch_depth(const tn_cuda_attention &job, cudaStream_t stream) {
    const int64_t rows = (int64_t)job.group * job.queries;
    const int64_t blocks = (rows + ROWS * WARPS - 1) / (ROWS * WARPS) * job.batch * job.kv_heads;
    int device = 0, processors = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess) return error;
    if constexpr (D <= 128)
        if (rows <= ROWS || blocks < processors) return launch_form<M, D, true>(job, stream);
    return launch_form<M, D, false>(job, stream);
}

template <typename M> cudaError_t launch_all(const tn_cuda_attention &job, cudaStream_t stream) {
    const int depth = job.depth > job.v_depth ? job.depth : job.v_depth;
    if (depth <= 32) return launch_depth<M, 32>(job, stream);
    if (depth <= 64) return launch_depth<M, 64>(job, stream);
    if (depth <= 128) return launch_depth<M, 128>(job, stream);
    return launch_depth<M, 256>(job, stream);
}

} // namespace

#endif

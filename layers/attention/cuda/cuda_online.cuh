/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by an online softmax (Milakov and Gimelshein, "Online normalizer calculation for
 * softmax", 2018; Dao, "FlashAttention-2", 2023). A block of four warps has the queries of one head
 * of keys, those of all heads of its group as rows of one matrix; tiles of keys and values lie in
 * shared memory, the next one is copied while one is multiplied. Where rows are many each warp has
 * 16 of them; where they are few all warps have the same 16, each a fourth of every tile's keys,
 * and what they have is joined at the end; tiles of many keys are shared out among the blocks of a
 * cluster then, too. A file a type of products defines what it launches.
 */
#ifndef TN_LAYERS_ATTENTION_CUDA_CUDA_ONLINE_CUH
#define TN_LAYERS_ATTENTION_CUDA_CUDA_ONLINE_CUH

#include "attention/cuda/cuda_attention.h"
#include "attention/cuda/cuda_join.cuh"
#include "attention/cuda/cuda_score.cuh"
#include "attention/cuda/cuda_tile.cuh"
#include "kit/cuda/cluster_launch.cuh"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/launch.cuh>

namespace {

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

/* `IS_BARE_FORM`: without masks and caps, whose code costs registers, and the time in which it
 * comes, also where it is jumped over. */
template <typename M, int D, bool IS_SHARED, bool IS_BARE_FORM> struct form {
    typedef tile<M, D> tiles;
    typedef power<M> powers;
    typedef typename tiles::type type;
    enum {
        DEPTH = D,
        IS_BARE = IS_BARE_FORM,
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

/* The same of whole rows of D elements that are `step` elements apart, `there` of COUNT, which
 * begin at 16 bytes: few instructions, which have to be fetched before anything is computed. */
template <typename F, int COUNT>
__device__ __forceinline__ void load_plain(typename F::type *to, const typename F::type *from,
                                           int64_t step, int there) {
    constexpr int AT_ONCE = THREADS / F::PACKS;
    const int row = (int)threadIdx.x / F::PACKS, pack = (int)threadIdx.x % F::PACKS * F::EACH;
#pragma unroll
    for (int i = 0; i < COUNT; i += AT_ONCE) {
        const bool is_there = i + row < there;
        if (COUNT % AT_ONCE != 0 && i + row >= COUNT) break;
        tn_copy_sixteen(to + (i + row) * F::PITCH + pack,
                        from + (is_there ? (i + row) * step : 0) + pack, is_there);
    }
}

/* A tile of keys and values. */
template <typename F>
__device__ __forceinline__ void load_tile(const tn_cuda_attention &job, int batch, int head,
                                          int first, typename F::type *to) {
    typedef typename F::type type;
    if (job.past == 0 && job.is_aligned && job.depth == F::DEPTH && job.v_depth == F::DEPTH) {
        const auto at = [&](const void *all, const tn_cuda_heads &step) {
            return (const type *)all + batch * step.batch + head * step.head +
                   first * step.position;
        };
        load_plain<F, F::KEYS>(to, at(job.k, job.k_step), job.k_step.position, job.keys - first);
        load_plain<F, F::KEYS>(to + F::TILE, at(job.v, job.v_step), job.v_step.position,
                               job.keys - first);
        return;
    }
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

template <typename F>
__device__ __forceinline__ void load_queries(const tn_cuda_attention &job, int batch, int head,
                                             int first, typename F::type *to) {
    typedef typename F::type type;
    if (job.group == 1 && job.is_q_aligned && job.depth == F::DEPTH) {
        load_plain<F, F::QUERIES>(to,
                                  (const type *)job.q + batch * job.q_step.batch +
                                      head * job.q_step.head + first * job.q_step.position,
                                  job.q_step.position, job.queries - first);
        return;
    }
    load_rows<F>(to, F::QUERIES, job.depth, job.is_q_aligned, [&](int row) -> const type * {
        const int index = first + row;
        if (index >= job.group * job.queries) return nullptr;
        return (const type *)job.q + batch * job.q_step.batch +
               (head * job.group + index / job.queries) * job.q_step.head +
               index % job.queries * job.q_step.position;
    });
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
        rows.mask[half] = F::IS_BARE ? 0
                                     : batch * job.mask_step[0] + query_head * job.mask_step[1] +
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

template <typename T> struct alignas(2 * sizeof(T)) pair { T items[2]; };

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
        const bool is_even = job.v_depth % 2 == 0 && (uintptr_t)y % sizeof(pair<type>) == 0;
#pragma unroll
        for (int d = 0; d < D / 8; d++) {
            const int column = tile<M, D>::column(d, 0, lane & 3); /* and the one behind it */
            pair<type> two;
            tn_number_store(&two.items[0], rows.sums[d][2 * half] * inverse, 0);
            tn_number_store(&two.items[1], rows.sums[d][2 * half + 1] * inverse, 0);
            if (column >= job.v_depth) continue;
            if (is_even) {
                *(pair<type> *)(void *)(y + column) = two;
                continue;
            }
            y[column] = two.items[0];
            if (column + 1 < job.v_depth) y[column + 1] = two.items[1];
        }
    }
}

template <typename M, int D, bool IS_SHARED, bool IS_BARE>
__global__ void __launch_bounds__(THREADS, form<M, D, IS_SHARED, IS_BARE>::BLOCKS)
    online(const __grid_constant__ tn_cuda_attention job) {
    typedef form<M, D, IS_SHARED, IS_BARE> F;
    typedef typename F::type type;
    extern __shared__ uint4 memory[];
    __shared__ int bounds[2];
    type *queries = (type *)memory, *tiles = queries + F::QUERIES * F::PITCH;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int batch = (int)blockIdx.y / job.kv_heads, head = (int)blockIdx.y % job.kv_heads;
    const int first_row = (int)(IS_SHARED ? blockIdx.z : blockIdx.x) * F::QUERIES;
    const int own_row = IS_SHARED ? 0 : warp * ROWS;
    const int step = IS_SHARED ? F::KEYS * (int)gridDim.x : F::KEYS; /* to this block's next tile */
    const int own_key = IS_SHARED ? warp * F::OWN : 0;
    if (threadIdx.x == 0) bounds[0] = job.keys, bounds[1] = 0;
    if (job.lengths) tn_cuda_wait_for_last(); /* else all ranges are known before */
    __syncthreads();
    rows_state<F, D> rows;
    begin_rows<F, D>(job, batch, head, first_row + own_row, rows, bounds);
    __syncthreads();
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    load_queries<F>(job, batch, head, first_row, queries);
    const int end = bounds[1];
    int first = bounds[0] / F::KEYS * F::KEYS + (IS_SHARED ? (int)blockIdx.x * F::KEYS : 0);
    int stage = 0;
#pragma unroll
    for (int ahead = 0; ahead < F::STAGES; ahead++) {
        if (first + ahead * step < end)
            load_tile<F>(job, batch, head, first + ahead * step, tiles + ahead * 2 * F::TILE);
        tn_copy_group();
    }
    for (; first < end; first += step) {
        type *keys = tiles + stage * 2 * F::TILE, *values = keys + F::TILE;
        const int next = first + F::STAGES * step;
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

template <typename M, int D, bool IS_BARE>
cudaError_t launch_whole(const tn_cuda_attention &job, cudaStream_t stream) {
    typedef form<M, D, false, IS_BARE> F;
    const auto kernel = online<M, D, false, IS_BARE>;
    const int rows = job.group * job.queries;
    const dim3 grid((unsigned)((rows + F::QUERIES - 1) / F::QUERIES),
                    (unsigned)(job.batch * job.kv_heads));
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)F::BYTES);
    if (error != cudaSuccess) return error;
    return tn_cuda_launch_early(kernel, grid, dim3(THREADS), (size_t)F::BYTES, stream, job);
}

/* Keys are shared out, too, where that leaves each block two tiles: joining blocks takes about as
 * long as one. */
template <typename M, int D, bool IS_BARE>
cudaError_t launch_shared(const tn_cuda_attention &job, cudaStream_t stream) {
    typedef form<M, D, true, IS_BARE> F;
    enum { TILES = 2 };
    const auto kernel = online<M, D, true, IS_BARE>;
    const int64_t rows = (int64_t)job.group * job.queries,
                  heads = (int64_t)job.batch * job.kv_heads;
    const int64_t row_blocks = (rows + F::QUERIES - 1) / F::QUERIES;
    int64_t blocks = tn_cuda_cluster_processors() / (row_blocks * heads);
    if (blocks > job.keys / (F::KEYS * TILES)) blocks = job.keys / (F::KEYS * TILES);
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    const int parts = WARPS + (blocks > 1 ? 1 : 0),
              joined = parts * ROWS * PART<D> * (int)sizeof(float);
    const int bytes = joined > (int)F::BYTES ? joined : (int)F::BYTES;
    const dim3 grid((unsigned)(blocks > 1 ? blocks : 1), (unsigned)heads, (unsigned)row_blocks);
    if (blocks > 1) return tn_cuda_launch_cluster(kernel, grid, THREADS, bytes, true, stream, job);
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    return tn_cuda_launch_early(kernel, grid, dim3(THREADS), (size_t)bytes, stream, job);
}

template <typename M, int D, bool IS_SHARED, bool IS_BARE>
cudaError_t launch_form(const tn_cuda_attention &job, cudaStream_t stream) {
    if constexpr (IS_SHARED)
        return launch_shared<M, D, IS_BARE>(job, stream);
    else
        return launch_whole<M, D, IS_BARE>(job, stream);
}

template <typename M, int D, bool IS_SHARED>
cudaError_t launch_rows(const tn_cuda_attention &job, cudaStream_t stream) {
    return job.mask_type == TN_CUDA_NO_MASK && !(job.softcap > 0)
               ? launch_form<M, D, IS_SHARED, true>(job, stream)
               : launch_form<M, D, IS_SHARED, false>(job, stream);
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
        if (rows <= ROWS || blocks < processors) return launch_rows<M, D, true>(job, stream);
    return launch_rows<M, D, false>(job, stream);
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

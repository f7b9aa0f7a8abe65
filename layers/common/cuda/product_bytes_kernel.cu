/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of products in 8 bits; see product_bytes_job.h. Tiles of b and a lie in shared
 * memory, some steps ahead; warps multiply 16 x 8 x 32 at a time (the instruction mma.m16n8k32 of
 * PTX). A few rows are multiplied four bytes at a time by a warp for each column.
 */
#include "common/cuda/launch.cuh"
#include "common/cuda/product_bytes_job.h"

namespace {

enum { THREADS = 128, DEPTH = TN_CUDA_BYTES_DEPTH, LINE = DEPTH + 16 };
enum { FEW_ROWS = TN_CUDA_BYTES_FEW_ROWS };

__device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* 16 bytes, or zeros. */
__device__ __forceinline__ void copy_line(int8_t *to, const int8_t *from, bool is_inside) {
    const int bytes = is_inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes));
}

__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const int8_t *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from)));
}

__device__ __forceinline__ void multiply(int (&sums)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* DEPTH bytes of LINES lines from `first` on; lines beyond `count`, and bytes beyond `bytes`, are
 * zeros. IS_ALIGNED: lines begin at whole 16 bytes. */
template <int LINES, bool IS_ALIGNED>
__device__ __forceinline__ void load_tile(int8_t *tile, const int8_t *from, int first, int count,
                                          int stride, int at, int bytes) {
    for (int i = threadIdx.x; i < LINES * (DEPTH / 16); i += THREADS) {
        const int line = i / (DEPTH / 16), part = i % (DEPTH / 16) * 16;
        const bool is_line = first + line < count;
        const int8_t *source = from + (int64_t)(is_line ? first + line : 0) * stride;
        int8_t *to = tile + line * LINE + part;
        if constexpr (IS_ALIGNED) {
            const bool is_inside = is_line && at + part < bytes;
            copy_line(to, is_inside ? source + at + part : from, is_inside);
        } else {
            for (int k = 0; k < 16; k++)
                to[k] = is_line && at + part + k < bytes ? source[at + part + k] : (int8_t)0;
        }
    }
}

template <typename T, int EACH> struct alignas(EACH * sizeof(T)) pack { T items[EACH]; };

__device__ __forceinline__ void store(float *to, float x, float) {
    *to = x;
}
__device__ __forceinline__ void store(int8_t *to, float x, float scale) {
    const float steps = rintf(__fdiv_rn(x, scale));
    *to = !(steps > -128.0f) ? (int8_t)-128 : (int8_t)fminf(steps, 127.0f);
}

template <typename T>
__device__ __forceinline__ T finish(const tn_cuda_bytes_job &l, int column, int sum, T residual) {
    T y;
    float x = (float)sum * __ldg(l.scale + column) + __ldg(l.bias + column);
    if (l.residual) x += (float)residual * l.residual_scale;
    store(&y, tn_cuda_activate(l.activation, x), l.y_scale);
    return y;
}

/* EACH neighbours of a row; 16 bytes of y. */
template <typename T, int EACH>
__device__ __forceinline__ void finish_pack(const tn_cuda_bytes_job &l, int64_t at, int column,
                                            const int *sums, const pack<T, EACH> &residual) {
    pack<T, EACH> y;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        y.items[i] = finish<T>(l, column + i, sums[i], residual.items[i]);
    *(pack<T, EACH> *)((T *)l.y + at) = y;
}

/* A tile of sums in shared memory, lines of COLUMNS + 8: from there neighbours are stored at once,
 * where lines of y begin at whole packs. */
template <typename T, int ROWS, int COLUMNS>
__device__ __forceinline__ void finish_tile(const tn_cuda_bytes_job &l, const int *sums,
                                            int first_row, int first_column) {
    constexpr int EACH = 16 / sizeof(T), ACROSS = COLUMNS / EACH;
    const bool is_whole = l.columns % EACH == 0;
    for (int i = threadIdx.x; i < ROWS * ACROSS; i += THREADS) {
        const int line = i / ACROSS, row = first_row + line;
        const int part = i % ACROSS * EACH, column = first_column + part;
        const int *from = sums + line * (COLUMNS + 8) + part;
        const int64_t at = (int64_t)row * l.columns + column;
        if (row >= l.rows || column >= l.columns) continue;
        if (is_whole) {
            pack<T, EACH> residual = {};
            if (l.residual) residual = *(const pack<T, EACH> *)((const T *)l.residual + at);
            finish_pack<T, EACH>(l, at, column, from, residual);
            continue;
        }
        for (int k = 0; k < EACH && column + k < l.columns; k++)
            ((T *)l.y)[at + k] = finish<T>(l, column + k, from[k],
                                           l.residual ? ((const T *)l.residual)[at + k] : (T)0);
    }
}

/* A step's products of one warp, WARP_ROWS = 16 M rows by 8 N columns. */
template <int M, int N>
__device__ __forceinline__ void multiply_step(int (&sums)[M][N][4], const int8_t *left,
                                              const int8_t *right, int depth) {
#pragma unroll
    for (int k = 0; k < DEPTH; k += 32) {
        uint32_t rows[M][4];
        if (k >= depth) break;
#pragma unroll
        for (int m = 0; m < M; m++)
            load_matrices(rows[m], left + m * 16 * LINE + k);
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            uint32_t columns[4];
            load_matrices(columns, right + n * 8 * LINE + k);
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply(sums[m][n], rows[m], columns[0], columns[1]);
                multiply(sums[m][n + 1], rows[m], columns[2], columns[3]);
            }
        }
    }
}

/* A tile of ROWS x COLUMNS sums a block, a quarter of it a warp. b, which is constant, is on its
 * way before a is there. */
template <typename T, int ROWS, int COLUMNS, int STAGES, bool IS_ALIGNED>
__global__ void __launch_bounds__(THREADS)
    bytes_kernel(const __grid_constant__ tn_cuda_bytes_job l) {
    constexpr int M = ROWS / 32, N = COLUMNS / 16; /* pieces of 16 rows, of 8 columns, a warp */
    constexpr int STAGE = (ROWS + COLUMNS) * LINE; /* a's lines, then b's */
    extern __shared__ __align__(16) int8_t shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_row = blockIdx.x * ROWS, first_column = blockIdx.y * COLUMNS;
    const int warp_row = warp % 2 * (ROWS / 2), warp_column = warp / 2 * (COLUMNS / 2);
    const int steps = (l.depth + DEPTH - 1) / DEPTH;
    int sums[M][N][4] = {};
    auto load_a = [&](int step) {
        if (step < steps)
            load_tile<ROWS, IS_ALIGNED>(shared + step % STAGES * STAGE, l.a, first_row, l.rows,
                                        l.depth, step * DEPTH, l.depth);
        asm volatile("cp.async.commit_group;");
    };
    auto load_b = [&](int step) {
        if (step < steps)
            load_tile<COLUMNS, true>(shared + step % STAGES * STAGE + ROWS * LINE, l.b,
                                     first_column, l.columns, l.padded_depth, step * DEPTH,
                                     l.padded_depth);
    };
    tn_cuda_start_next();
    for (int step = 0; step < STAGES - 1; step++)
        load_b(step);
    tn_cuda_wait_for_last();
    for (int step = 0; step < STAGES - 1; step++)
        load_a(step);
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        load_b(step + STAGES - 1);
        load_a(step + STAGES - 1);
        const int8_t *stage = shared + step % STAGES * STAGE;
        multiply_step<M, N>(sums, stage + (warp_row + lane % 16) * LINE + lane / 16 * 16,
                            stage + ROWS * LINE + (warp_column + lane / 16 * 8 + lane % 8) * LINE +
                                lane / 8 % 2 * 16,
                            l.depth - step * DEPTH);
    }
    __syncthreads(); /* the tiles are read: the sums come in their place */
    int *const all = (int *)shared;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                *(int2 *)(all + (warp_row + m * 16 + lane / 4 + i * 8) * (COLUMNS + 8) +
                          warp_column + n * 8 + lane % 4 * 2) =
                    make_int2(sums[m][n][2 * i], sums[m][n][2 * i + 1]);
    __syncthreads();
    finish_tile<T, ROWS, COLUMNS>(l, all, first_row, first_column);
}

/* A warp a column: 16 bytes a lane of it and of each row. Depths of whole 16 bytes. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    few_rows_kernel(const __grid_constant__ tn_cuda_bytes_job l) {
    const int lane = threadIdx.x % 32;
    const int column = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    if (column >= l.columns) return;
    const uint4 *b = (const uint4 *)(l.b + (int64_t)column * l.padded_depth);
    const int packs = l.depth / 16;
    int sums[FEW_ROWS] = {};
    for (int k = lane; k < packs; k += 32) {
        const uint4 w = __ldg(b + k);
#pragma unroll
        for (int m = 0; m < FEW_ROWS; m++) {
            if (m >= l.rows) break;
            const uint4 x = ((const uint4 *)(l.a + (int64_t)m * l.depth))[k];
            sums[m] = __dp4a((int)x.x, (int)w.x, sums[m]);
            sums[m] = __dp4a((int)x.y, (int)w.y, sums[m]);
            sums[m] = __dp4a((int)x.z, (int)w.z, sums[m]);
            sums[m] = __dp4a((int)x.w, (int)w.w, sums[m]);
        }
    }
#pragma unroll
    for (int m = 0; m < FEW_ROWS; m++) {
        if (m >= l.rows) break;
        const int sum = __reduce_add_sync(0xffffffffu, sums[m]);
        const int64_t at = (int64_t)m * l.columns + column;
        if (lane == m)
            ((T *)l.y)[at] =
                finish<T>(l, column, sum, l.residual ? ((const T *)l.residual)[at] : (T)0);
    }
}

/* No more stages in shared memory than there are steps: more blocks fit then. */
template <typename T, int ROWS, int COLUMNS, int STAGES, bool IS_ALIGNED>
cudaError_t launch_kernel(const tn_cuda_bytes_job *l, cudaStream_t stream) {
    constexpr int stage = (ROWS + COLUMNS) * LINE, sums = ROWS * (COLUMNS + 8) * (int)sizeof(int);
    const auto kernel = bytes_kernel<T, ROWS, COLUMNS, STAGES, IS_ALIGNED>;
    const int steps = (l->depth + DEPTH - 1) / DEPTH;
    const int tiles = (steps < STAGES ? steps : STAGES) * stage,
              bytes = tiles < sums ? sums : tiles;
    const dim3 blocks((unsigned int)((l->rows + ROWS - 1) / ROWS),
                      (unsigned int)((l->columns + COLUMNS - 1) / COLUMNS));
    if (bytes > 48 * 1024) {
        const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (error != cudaSuccess) return error;
    }
    return tn_cuda_launch_early(kernel, blocks, THREADS, (size_t)bytes, stream, *l);
}

template <typename T, int ROWS, int COLUMNS, int STAGES>
cudaError_t launch_tile(const tn_cuda_bytes_job *l, cudaStream_t stream) {
    return l->depth % 16 == 0 && (uintptr_t)l->a % 16 == 0
               ? launch_kernel<T, ROWS, COLUMNS, STAGES, true>(l, stream)
               : launch_kernel<T, ROWS, COLUMNS, STAGES, false>(l, stream);
}

/* The last tactic is that of few rows where it can be done. */
template <typename T>
cudaError_t launch(const tn_cuda_bytes_job *l, uint32_t tactic, cudaStream_t stream) {
    if (tactic == 3 && l->rows <= FEW_ROWS && l->depth % 16 == 0 && (uintptr_t)l->a % 16 == 0) {
        const unsigned int each = THREADS / 32, columns = (unsigned int)l->columns;
        return tn_cuda_launch_early(few_rows_kernel<T>, (columns + each - 1) / each, THREADS, 0,
                                    stream, *l);
    }
    if (tactic == 0) return launch_tile<T, 64, 64, 4>(l, stream);
    if (tactic == 1) return launch_tile<T, 32, 32, 6>(l, stream);
    return launch_tile<T, 64, 32, 5>(l, stream);
}

} // namespace

cudaError_t tn_cuda_bytes_launch(const tn_cuda_bytes_job *job, uint32_t tactic,
                                 cudaStream_t stream) {
    return job->y_type == TN_I8 ? launch<int8_t>(job, tactic, stream)
                                : launch<float>(job, tactic, stream);
}

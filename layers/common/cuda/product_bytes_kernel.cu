/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of products in 8 bits; see product_bytes_job.h. Tiles of b and a lie in shared
 * memory, some steps ahead; warps multiply 16 x 8 x 32 at a time (the instruction mma.m16n8k32 of
 * PTX). A few rows are multiplied four bytes at a time by a warp for each column.
 */
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

template <typename T> struct alignas(2 * sizeof(T)) pair { T items[2]; };

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

/* Two neighbours, the first at an even column. */
template <typename T>
__device__ __forceinline__ void finish_pair(const tn_cuda_bytes_job &l, int row, int column,
                                            const int *sums) {
    if (row >= l.rows || column >= l.columns) return;
    const int64_t at = (int64_t)row * l.columns + column;
    T *y = (T *)l.y + at;
    const T *residual = l.residual ? (const T *)l.residual + at : y;
    if (l.columns % 2 == 0) {
        pair<T> both = {};
        if (l.residual) both = *(const pair<T> *)residual;
        for (int i = 0; i < 2; i++)
            both.items[i] = finish<T>(l, column + i, sums[i], both.items[i]);
        *(pair<T> *)y = both;
        return;
    }
    for (int i = 0; i < 2 && column + i < l.columns; i++)
        y[i] = finish<T>(l, column + i, sums[i], l.residual ? residual[i] : (T)0);
}

/* A tile of ROWS x COLUMNS sums a block, a quarter of it a warp. */
template <typename T, int ROWS, int COLUMNS, int STAGES, bool IS_ALIGNED>
__global__ void __launch_bounds__(THREADS) bytes_kernel(const tn_cuda_bytes_job l) {
    constexpr int M = ROWS / 32, N = COLUMNS / 16; /* pieces of 16 rows, of 8 columns, a warp */
    extern __shared__ __align__(16) int8_t shared[];
    int8_t *const a = shared, *const b = shared + STAGES * ROWS * LINE;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_row = blockIdx.x * ROWS, first_column = blockIdx.y * COLUMNS;
    const int warp_row = warp % 2 * (ROWS / 2), warp_column = warp / 2 * (COLUMNS / 2);
    const int steps = (l.depth + DEPTH - 1) / DEPTH;
    int sums[M][N][4] = {};
    auto load = [&](int step) {
        if (step < steps) {
            load_tile<ROWS, IS_ALIGNED>(a + step % STAGES * ROWS * LINE, l.a, first_row, l.rows,
                                        l.depth, step * DEPTH, l.depth);
            load_tile<COLUMNS, true>(b + step % STAGES * COLUMNS * LINE, l.b, first_column,
                                     l.columns, l.padded_depth, step * DEPTH, l.padded_depth);
        }
        asm volatile("cp.async.commit_group;");
    };
    for (int step = 0; step < STAGES - 1; step++)
        load(step);
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        load(step + STAGES - 1);
        const int stage = step % STAGES;
        const int8_t *left = a + (stage * ROWS + warp_row + lane % 16) * LINE + lane / 16 * 16;
        const int8_t *right = b +
                              (stage * COLUMNS + warp_column + lane / 16 * 8 + lane % 8) * LINE +
                              lane / 8 % 2 * 16;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 32) {
            uint32_t rows[M][4];
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
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                finish_pair<T>(l, first_row + warp_row + m * 16 + lane / 4 + i * 8,
                               first_column + warp_column + n * 8 + lane % 4 * 2,
                               sums[m][n] + i * 2);
}

/* A warp a column: 16 bytes a lane of it and of each row. Depths of whole 16 bytes. */
template <typename T>
__global__ void __launch_bounds__(THREADS) few_rows_kernel(const tn_cuda_bytes_job l) {
    const int lane = threadIdx.x % 32;
    const int column = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
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

template <typename T, int ROWS, int COLUMNS, int STAGES, bool IS_ALIGNED>
cudaError_t launch_kernel(const tn_cuda_bytes_job *l, cudaStream_t stream) {
    constexpr int bytes = STAGES * (ROWS + COLUMNS) * LINE;
    const auto kernel = bytes_kernel<T, ROWS, COLUMNS, STAGES, IS_ALIGNED>;
    const dim3 blocks((unsigned int)((l->rows + ROWS - 1) / ROWS),
                      (unsigned int)((l->columns + COLUMNS - 1) / COLUMNS));
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    kernel<<<blocks, THREADS, bytes, stream>>>(*l);
    return cudaGetLastError();
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
        few_rows_kernel<T><<<(columns + each - 1) / each, THREADS, 0, stream>>>(*l);
        return cudaGetLastError();
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products in 8 bits (product_int8_kernel.cu): how tiles of a and b come to shared memory, and
 * what a warp multiplies of them. Private to that file, as product_int8_finish.cuh is.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_INT8_TILE_CUH
#define TN_KIT_CUDA_GEMM_PRODUCT_INT8_TILE_CUH

#include "kit/cuda/cluster.cuh"
#include "kit/cuda/gemm/product_int8_job.h"
#include <tenon/kit/cuda/matrix.cuh>

namespace {

enum { THREADS = 128, DEPTH = TN_CUDA_INT8_DEPTH, LINE = TN_CUDA_INT8_LINE };
enum { GEMV_ROWS = TN_CUDA_INT8_GEMV_ROWS };
enum { PARTS = DEPTH / 16, LINES_AT_ONCE = THREADS / PARTS };

/* 16 bytes, or zeros. */
__device__ __forceinline__ void copy_line(int8_t *to, const int8_t *from, bool is_inside) {
    const int bytes = is_inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tn_cuda_shared_address(to)),
                 "l"(from), "r"(bytes));
}

__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const int8_t *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(tn_cuda_shared_address(from))
                 : "memory");
}

/* DEPTH bytes of LINES lines from `first` on; lines beyond `count`, and bytes beyond `bytes`, are
 * zeros. IS_ALIGNED: lines begin at whole 16 bytes. */
template <int LINES, bool IS_ALIGNED>
__device__ __forceinline__ void load_tile(int8_t *tile, const int8_t *from, int first, int count,
                                          int stride, int at, int bytes) {
    const int part = (int)threadIdx.x % PARTS * 16;
#pragma unroll
    for (int i = 0; i < LINES / LINES_AT_ONCE; i++) {
        const int line = (int)threadIdx.x / PARTS + i * LINES_AT_ONCE;
        const bool is_line = first + line < count;
        const int8_t *source = from + (int64_t)(is_line ? first + line : 0) * stride + at + part;
        int8_t *to = tile + line * LINE + part;
        if constexpr (IS_ALIGNED) {
            const bool is_inside = is_line && at + part < bytes;
            copy_line(to, is_inside ? source : from, is_inside);
        } else {
#pragma unroll 1
            for (int k = 0; k < 16; k++)
                to[k] = is_line && at + part + k < bytes ? source[k] : (int8_t)0;
        }
    }
}

/* Where the rows that a thread loads begin in an image: LINES of a tile, one in LINES_AT_ONCE. */
template <int LINES> struct pixels {
    int image[LINES / LINES_AT_ONCE], y[LINES / LINES_AT_ONCE], x[LINES / LINES_AT_ONCE];
};

template <int LINES>
__device__ __forceinline__ void find_pixels(const tn_cuda_int8_job &l, int first,
                                            pixels<LINES> &at) {
    const tn_cuda_product_image &image = l.image;
#pragma unroll
    for (int i = 0; i < LINES / LINES_AT_ONCE; i++) {
        const int row = first + (int)threadIdx.x / PARTS + i * LINES_AT_ONCE;
        const int across = row / image.output[1];
        at.image[i] = row < l.rows ? across / image.output[0] : -1;
        at.y[i] = across % image.output[0] * image.stride[0] - image.pad[0];
        at.x[i] = row % image.output[1] * image.stride[1] - image.pad[1];
    }
}

/* What the pixels of a tile see of taps and channels from `at` on. */
template <int LINES>
__device__ __forceinline__ void load_pixels(int8_t *tile, const tn_cuda_int8_job &l,
                                            const pixels<LINES> &pixels, int at) {
    const tn_cuda_product_image &image = l.image;
    const int part = (int)threadIdx.x % PARTS * 16, k = at + part;
    const int tap = k / image.channels, channel = k - tap * image.channels;
    const int tap_y = tap / image.kernel[1], tap_x = tap - tap_y * image.kernel[1];
    int8_t *to = tile + (int)threadIdx.x / PARTS * LINE + part;
#pragma unroll
    for (int i = 0; i < LINES / LINES_AT_ONCE; i++) {
        const int y = pixels.y[i] + tap_y * image.dilation[0];
        const int x = pixels.x[i] + tap_x * image.dilation[1];
        const bool is_inside = pixels.image[i] >= 0 && k < l.depth && y >= 0 &&
                               y < image.input[0] && x >= 0 && x < image.input[1];
        const int64_t pixel = ((int64_t)pixels.image[i] * image.input[0] + y) * image.input[1] + x;
        copy_line(to + i * LINES_AT_ONCE * LINE,
                  is_inside ? l.a + pixel * image.channels + channel : l.a, is_inside);
    }
}

/* What a warp multiplies in a step: M pieces of 16 rows by N of 8 columns, in PIECES of depth. All
 * is loaded before the first product, so that only one load is waited for. */
template <int M, int N> struct operands {
    enum { PIECES = DEPTH / 32 };
    uint32_t rows[PIECES][M][4], columns[PIECES][N / 2][4];

    __device__ __forceinline__ void load(const int8_t *left, const int8_t *right) {
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
#pragma unroll
            for (int m = 0; m < M; m++)
                load_matrices(rows[k][m], left + m * 16 * LINE + k * 32);
#pragma unroll
            for (int n = 0; n < N / 2; n++)
                load_matrices(columns[k][n], right + n * 16 * LINE + k * 32);
        }
    }

    __device__ __forceinline__ void multiply_all(int (&sums)[M][N][4]) const {
#pragma unroll
        for (int k = 0; k < PIECES; k++)
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    tn_matrix<int8_t>::deep(sums[m][n], rows[k][m][0], rows[k][m][1], rows[k][m][2],
                                            rows[k][m][3], columns[k][n / 2][n % 2 * 2],
                                            columns[k][n / 2][n % 2 * 2 + 1]);
    }
};

} // namespace

#endif

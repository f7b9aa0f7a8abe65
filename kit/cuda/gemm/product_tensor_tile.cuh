/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block of product_tensor.cu does: how its warps share a tile, the copies to shared memory,
 * the products, and what becomes of their sums. Private to it.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_TENSOR_TILE_CUH
#define TN_KIT_CUDA_GEMM_PRODUCT_TENSOR_TILE_CUH

#include "kit/cuda/gemm/product_job.cuh"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

enum {
    PACK = 16, /* bytes of a copy */
    STEP = 32, /* bytes of depth of a product of tensor cores */
};

struct tensor_launch : product_job {
    int32_t depth_bytes, stage_bits, stages; /* bytes of a stage: 2^stage_bits; stages in all */
    int32_t a_pitch, y_pitch; /* from one row to the next: bytes of a, elements of y */
    /* Where means of planes are stored: rows of an image, images of a block, and whether they are
     * 32-bit floats. y_pitch is from one image to the next. */
    int32_t pixels, images;
    bool is_wide;
};

template <typename T> struct stored { typedef T type; };
template <> struct stored<tn_tf32_number> { typedef float type; };

template <typename T> struct alignas(4 * sizeof(T)) quad { T items[4]; };

/* A tile of ROWS x COLUMNS by ACROSS x ALONG warps, DEEP times: each of those has a part of every
 * stage's depth. */
template <int ROWS_, int COLUMNS_, int ACROSS_, int ALONG_, int DEEP_> struct form {
    enum {
        ROWS = ROWS_,
        COLUMNS = COLUMNS_,
        ACROSS = ACROSS_,
        DEEP = DEEP_,
        WARPS = ACROSS_ * ALONG_ * DEEP_,
        THREADS = WARPS * 32,
        HIGH = ROWS_ / ACROSS_ / 16,   /* products of a warp */
        WIDE = COLUMNS_ / ALONG_ / 16, /* pairs of them */
        LINES = ROWS_ + COLUMNS_,
        PITCH = COLUMNS_ + 8, /* floats from a row's sums to the next one's */
        SUMS = DEEP_ * ROWS_ * PITCH * (int)sizeof(float),
        QUADS = ROWS_ * COLUMNS_ / 4 / THREADS, /* of the result, a thread */
        EARLY = QUADS < 4 ? QUADS : 4,          /* whose residual is loaded before the products */
    };
};

/* Bytes from a line of a stage to the next one: 8 of them use all banks. */
__host__ __device__ __forceinline__ int pitch_of(const tensor_launch &l) {
    return (1 << l.stage_bits) + PACK;
}

/* What a thread copies of an operand: one pack of each line that is `step` behind the last one. */
template <typename F> struct copier {
    const char *from; /* of the first stage */
    int line, step, deep, offset, pitch;

    __device__ __forceinline__ copier(const tensor_launch &l, const void *operand, int first,
                                      int operand_pitch) {
        const int pack_bits = l.stage_bits - 4;
        line = (int)threadIdx.x >> pack_bits;
        step = F::THREADS >> pack_bits;
        deep = ((int)threadIdx.x & ((1 << pack_bits) - 1)) * PACK;
        offset = line * pitch_of(l) + deep;
        pitch = operand_pitch;
        from = (const char *)operand + (int64_t)(first + line) * pitch + deep;
    }
    /* Begins to copy LINES lines of a stage, `count` of which are there: zeros behind those and
     * behind the depth. */
    template <int LINES>
    __device__ __forceinline__ void copy(const tensor_launch &l, int count, int stage,
                                         char *to) const {
        const bool is_deep = (stage << l.stage_bits) + deep < l.depth_bytes;
        const char *source = from + (stage << l.stage_bits);
        to += offset;
#pragma unroll 2
        for (int i = line; i < LINES; i += step) {
            const bool is_wanted = is_deep && i < count;
            tn_copy_sixteen(to, is_wanted ? source : from, is_wanted);
            to += step * pitch_of(l);
            source += (int64_t)step * pitch;
        }
    }
};

template <typename T> __device__ __forceinline__ uint32_t word_of(uint32_t bits) {
    return bits;
}
template <> __device__ __forceinline__ uint32_t word_of<tn_tf32_number>(uint32_t bits) {
    return tn_tf32_round(__uint_as_float(bits));
}

template <typename T> __device__ __forceinline__ void load(uint32_t (&to)[4], const char *row) {
    tn_matrix_load(to, row);
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = word_of<T>(to[i]);
}

/* A warp's products of one stage. Matrices of a: rows low and high, then deeper; of b: columns low,
 * deeper, then columns high. */
template <typename T, typename F>
__device__ __forceinline__ void multiply_stage(const tensor_launch &l, int stage, const char *lines,
                                               float (&sums)[F::HIGH][F::WIDE * 2][4]) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pitch = pitch_of(l);
    const int row = warp % F::ACROSS * (F::HIGH * 16) + (lane & 15);
    const int column = warp / F::ACROSS / F::DEEP * (F::WIDE * 16) + (lane & 7) + (lane >> 4) * 8;
    const char *a = lines + row * pitch + (lane >> 4) * PACK;
    const char *b = lines + (F::ROWS + column) * pitch + (lane >> 3 & 1) * PACK;
    int end = l.depth_bytes - (stage << l.stage_bits);
    if (end > 1 << l.stage_bits) end = 1 << l.stage_bits;
#pragma unroll 2
    for (int at = warp / F::ACROSS % F::DEEP * STEP; at < end; at += F::DEEP * STEP) {
        uint32_t of_a[F::HIGH][4], of_b[F::WIDE][4];
#pragma unroll
        for (int i = 0; i < F::HIGH; i++)
            load<T>(of_a[i], a + i * 16 * pitch + at);
#pragma unroll
        for (int j = 0; j < F::WIDE; j++)
            load<T>(of_b[j], b + j * 16 * pitch + at);
#pragma unroll
        for (int i = 0; i < F::HIGH; i++)
#pragma unroll
            for (int j = 0; j < F::WIDE * 2; j++)
                tn_matrix<T>::deep(sums[i][j], of_a[i][0], of_a[i][1], of_a[i][2], of_a[i][3],
                                   of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
    }
}

template <typename F>
__device__ __forceinline__ void store_sums(const float (&sums)[F::HIGH][F::WIDE * 2][4],
                                           float *to) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row = warp % F::ACROSS * (F::HIGH * 16) + (lane >> 2);
    const int column = warp / F::ACROSS / F::DEEP * (F::WIDE * 16) + (lane & 3) * 2;
    to += (warp / F::ACROSS % F::DEEP * F::ROWS + row) * F::PITCH + column;
#pragma unroll
    for (int i = 0; i < F::HIGH; i++)
#pragma unroll
        for (int j = 0; j < F::WIDE * 2; j++) {
            float *pair = to + i * 16 * F::PITCH + j * 8;
            *(float2 *)pair = make_float2(sums[i][j][0], sums[i][j][1]);
            *(float2 *)(pair + 8 * F::PITCH) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
}

/* Where a thread's quads of the result lie: all in the same four columns. */
template <typename F> struct position {
    enum { LINE = F::COLUMNS / 4, STEP = F::THREADS / LINE };
    int row, column, in_row, in_column;

    __device__ __forceinline__ position(int first_row, int first_column) {
        in_row = (int)threadIdx.x / LINE;
        in_column = (int)threadIdx.x % LINE * 4;
        row = first_row + in_row;
        column = first_column + in_column;
    }
};

/* Up to four elements of a row. */
template <typename S>
__device__ __forceinline__ quad<S> load_quad(const S *row, int column, int columns) {
    quad<S> four = {};
    if (column >= columns) return four;
    if (columns % 4 == 0) return *(const quad<S> *)(row + column);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (column + k < columns) four.items[k] = row[column + k];
    return four;
}

template <typename type>
__device__ __forceinline__ quad<type> load_residual(const tensor_launch &l, int row, int column) {
    if (!l.residual || row >= l.rows) return {};
    return load_quad((const type *)l.residual + (int64_t)row * l.columns, column, l.columns);
}

/* A quad of the result as floats, from the sums of all that share its depth. */
template <typename type, typename F>
__device__ __forceinline__ void join_quad(const tensor_launch &l, const float *sums,
                                          const quad<float> &bias, const quad<type> &rest,
                                          float (&four)[4]) {
    float4 sum = *(const float4 *)sums;
#pragma unroll
    for (int k = 1; k < F::DEEP; k++) {
        const float4 more = *(const float4 *)(sums + k * F::ROWS * F::PITCH);
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    four[0] = sum.x, four[1] = sum.y, four[2] = sum.z, four[3] = sum.w;
#pragma unroll
    for (int k = 0; k < 4; k++)
        four[k] = fmaf(tn_number_load(rest.items[k], 0), l.residual_factor,
                       four[k] * l.alpha + bias.items[k]);
    tn_cuda_activate_all<type>(l.activation, four);
}

template <typename type, typename F>
__device__ __forceinline__ void finish_quad(const tensor_launch &l, const position<F> &at,
                                            int index, const float *sums, const quad<float> &bias,
                                            const quad<type> &rest) {
    const int row = at.row + index * position<F>::STEP;
    float four[4];
    if (row >= l.rows || at.column >= l.columns) return;
    sums += (at.in_row + index * position<F>::STEP) * F::PITCH + at.in_column;
    join_quad<type, F>(l, sums, bias, rest, four);
    quad<type> result;
#pragma unroll
    for (int k = 0; k < 4; k++)
        tn_number_store(&result.items[k], four[k], 0);
    type *y = (type *)l.y + (int64_t)row * l.y_pitch + at.column;
    if (l.columns % 4 == 0)
        *(quad<type> *)y = result;
    else
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (at.column + k < l.columns) y[k] = result.items[k];
}

/* ----------------------------------------------------------------------------------------------
 * means of planes */

/* A quad of the result in place of its sums, which no other thread reads. */
template <typename type, typename F>
__device__ __forceinline__ void keep_quad(const tensor_launch &l, const position<F> &at, int index,
                                          float *sums, const quad<float> &bias,
                                          const quad<type> &rest) {
    const int in_row = at.in_row + index * position<F>::STEP;
    float four[4];
    if (in_row >= l.images * l.pixels || at.row + index * position<F>::STEP >= l.rows ||
        at.column >= l.columns)
        return;
    sums += in_row * F::PITCH + at.in_column;
    join_quad<type, F>(l, sums, bias, rest, four);
    *(float4 *)sums = make_float4(four[0], four[1], four[2], four[3]);
}

/* Of the block's images, when all quads are kept: four columns of one a warp, each by eight lanes,
 * whose sums meet in the same order always. */
template <typename type, typename F>
__device__ __forceinline__ void store_means(const tensor_launch &l, int first_column,
                                            const float *kept) {
    constexpr int LINE = position<F>::LINE;
    const int lane = threadIdx.x & 31, first = (int)blockIdx.x * l.images;
    const int images = min(l.images, l.rows / l.pixels - first);
#pragma unroll 1
    for (int i = (int)threadIdx.x >> 5; i < images * LINE; i += F::WARPS) {
        const int image = i / LINE, in_column = i % LINE * 4 + (lane & 3);
        const int column = first_column + in_column;
        const float *from = kept + image * l.pixels * F::PITCH + in_column;
        float sum = 0;
        for (int pixel = lane >> 2; pixel < l.pixels; pixel += 8)
            sum += from[pixel * F::PITCH];
#pragma unroll
        for (int step = 16; step >= 4; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane >= 4 || column >= l.columns) continue;
        const int64_t to = (int64_t)(first + image) * l.y_pitch + column;
        sum /= (float)l.pixels;
        if (l.is_wide)
            ((float *)l.y)[to] = sum;
        else
            tn_number_store((type *)l.y + to, sum, 0);
    }
}

} // namespace

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the convolution of few channels (cuda_few.cu) have in common: how a block's
 * work is cut, and how numbers become words of shared memory. Private to them.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_FEW_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_FEW_CUH

#include "conv/cuda/cuda_direct.h"
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    AT_ONCE = 2, /* blocks of a multiprocessor */
    NT = 4,      /* tiles of 8 filters of a warp */
    EACH = 8,    /* neighbouring positions of a lane */
    MOST_SHARED = 160 * 1024,
    MOST_LINES = 64,
};

struct few_shape {
    int rows, width;         /* of output a block */
    int lines, columns;      /* of words in shared memory */
    int pitch;               /* words from one line to the next */
    int row_step, lane_step; /* lines from an output row to the next, from a lane to the next */
    int line_step;           /* lines of input from one of words to the next */
    int groups;              /* of lines that are multiplied at once */
    int tiles;               /* of 8 filters a block */
    int across, down, count; /* blocks of output: of an image, of all */
    tn_divider channel_divider;
};

/* Words that a lane reads of a line. */
__host__ __device__ constexpr int words_of(int width, int stride) {
    return ((EACH - 1) * stride + width + 3) / 4 * 4;
}
/* Output rows and columns of a warp: lanes that read at once differ in rows or, where strides bring
 * these to the same banks, in columns. */
__host__ __device__ constexpr int rows_of(int stride) {
    return stride == 1 ? 2 : 4;
}
__host__ __device__ constexpr int width_of(int stride) {
    return 8 / rows_of(stride) * EACH;
}

/* What a type is stored as, and a word of shared memory from values as they were loaded: `low` and
 * `high` are of neighbouring lines. */
template <typename T> struct stored;
template <> struct stored<__half> {
    typedef __half type;
    static __device__ __forceinline__ uint32_t word(float low, float high) {
        const __half2 two = __floats2half2_rn(low, high);
        return *(const uint32_t *)&two;
    }
};
template <> struct stored<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    static __device__ __forceinline__ uint32_t word(float low, float high) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
        return *(const uint32_t *)&two;
    }
};
template <> struct stored<tn_tf32_number> {
    typedef float type;
    static __device__ __forceinline__ uint32_t word(float low, float) { return tn_tf32_round(low); }
};
template <typename T> __device__ __forceinline__ uint32_t word_of(float low, float high) {
    return stored<T>::word(low, high);
}
/* 16-bit numbers as they are. */
template <typename T> __device__ __forceinline__ uint32_t word_of(uint16_t low, uint16_t high) {
    return (uint32_t)low | (uint32_t)high << 16;
}

} // namespace

/* The width of the window as the kernels are compiled; 0: none fits. */
int tn_cuda_few_width(int64_t width, int64_t stride);

#endif

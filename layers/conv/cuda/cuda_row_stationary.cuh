/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row-stationary convolution (cuda_row_stationary.cu): how a block's work is cut, the copy of
 * its input to shared memory, and what a warp multiplies. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_ROW_STATIONARY_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_ROW_STATIONARY_CUH

#include "conv/cuda/cuda_number.cuh"
#include <tenon/kit/cuda/launch.cuh>

namespace {

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    NT = 4, /* matrices of 8 filters of a warp */
    MOST_SHARED = 160 * 1024,
    MOST_LINES = 64,
};

/* Depth index r * C + c is row r of the window in channel c, a "line". Shared memory has the lines
 * of a block's input, row by row and channel by channel, as words of an operand: one element, or
 * two of lines that follow each other. */
struct rows_shape {
    int rows, width;         /* of output a block */
    int lines, columns;      /* of words in shared memory */
    int loaded;              /* lines that are loaded; the rest fills up a group, and is zero */
    int pitch;               /* words from one line to the next */
    int row_step, lane_step; /* lines from an output row to the next, from a lane to the next */
    int line_step;           /* lines of input from one of words to the next */
    int groups; /* of lines that are multiplied at once: one of each of a quad's lanes */
    int tiles;  /* of 8 filters a block */
    int across, down, count; /* blocks of output: of an image, of all */
    tn_divider channel_divider;
};

/* Words that a lane reads of a line, for `each` neighbouring output pixels. */
__host__ __device__ constexpr int words_of(int width, int stride, int each) {
    return ((each - 1) * stride + width + 3) / 4 * 4;
}
/* Where a column of the input is in a line. With strides of 2 the second and the third of four
 * are swapped: what two pixels multiply by two taps is then side by side. */
template <int S> __host__ __device__ constexpr int word_at(int column) {
    return S == 1 ? column : (column & ~3) | (column & 1) << 1 | (column >> 1 & 1);
}
/* Output rows and columns of a warp: lanes that read at once differ in rows or, where strides lead
 * these to the same banks, in columns. */
__host__ __device__ constexpr int rows_of(int stride) {
    return stride == 1 ? 2 : 4;
}
__host__ __device__ constexpr int width_of(int stride, int each) {
    return 8 / rows_of(stride) * each;
}
/* Neighbouring output pixels of a lane, but 8, that begin at 16 bytes of its input. */
constexpr int few_of(int stride) {
    return 4 / stride;
}

template <typename T> __device__ __forceinline__ uint32_t word_of(float low, float high) {
    return stored<T>::join(low, high);
}
/* 16-bit numbers as they are. */
template <typename T> __device__ __forceinline__ uint32_t word_of(uint16_t low, uint16_t high) {
    return (uint32_t)low | (uint32_t)high << 16;
}

/* How lines become words: one each; two, every line again in the next word; two by two. */
enum { ONE = 0, OVERLAPPED = 1, PAIRS = 2 };

/* A warp loads neighbouring lines, four words of three columns a lane at once. `X`: float, or the
 * bits of 16-bit numbers. */
template <typename T, typename X, int S, int MODE>
__device__ __forceinline__ void load_lines(const tn_cuda_conv &d, const rows_shape &t,
                                           const X *image, int y0, int x0, uint32_t *patch) {
    constexpr int WORDS = 4, COLUMNS = 3, EACH_LINE = MODE == PAIRS ? 2 : 1;
    constexpr int LINES = MODE == ONE ? WORDS : MODE == PAIRS ? 2 * WORDS : WORDS + 1;
    const int of_warp = (t.loaded + WARPS - 1) / WARPS, first = (threadIdx.x >> 5) * of_warp;
    const int end = min(first + of_warp, t.loaded);
    const int plane = d.in_height * d.in_width;
    const int pixel_step = d.is_x_linear ? 1 : d.channels, row_step = d.in_width * pixel_step;
    const int channel_step = d.is_x_linear ? plane : 1;
    tn_cuda_keep(image);
    for (int column = threadIdx.x & 31; column < t.columns; column += 32 * COLUMNS) {
        bool is_inside[COLUMNS];
        int from[COLUMNS];
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            const int x = x0 + column + 32 * i;
            is_inside[i] = x >= 0 && x < d.in_width;
            from[i] = x * pixel_step;
        }
        uint32_t *to = patch + first * t.pitch + word_at<S>(column);
        for (int line = first; line < end; line += WORDS) {
            X values[LINES][COLUMNS];
#pragma unroll
            for (int j = 0; j < LINES; j++) {
                uint32_t c;
                const int y = y0 + (int)tn_divide_rest((uint32_t)(line * EACH_LINE + j),
                                                       t.channel_divider, &c);
                const bool is_row = y >= 0 && y < d.in_height;
                const int row = (int)c * channel_step + y * row_step;
#pragma unroll
                for (int i = 0; i < COLUMNS; i++)
                    values[j][i] = is_row && is_inside[i] ? __ldg(image + (row + from[i])) : (X)0;
            }
#pragma unroll
            for (int j = 0; j < WORDS; j++, to += t.pitch)
#pragma unroll
                for (int i = 0; i < COLUMNS; i++)
                    if (line + j < end && column + 32 * i < t.columns)
                        to[32 * i] = word_of<T>(values[j * EACH_LINE][i],
                                                values[MODE == ONE ? j : j * EACH_LINE + 1][i]);
        }
    }
}

template <typename T, int S, typename X>
__device__ __forceinline__ void load_patch(const tn_cuda_conv &d, const rows_shape &t,
                                           const X *image, int y0, int x0, uint32_t *patch) {
    if constexpr (tn_matrix<T>::each == 1)
        load_lines<T, X, S, ONE>(d, t, image, y0, x0, patch);
    else if (t.line_step == 1)
        load_lines<T, X, S, OVERLAPPED>(d, t, image, y0, x0, patch);
    else
        load_lines<T, X, S, PAIRS>(d, t, image, y0, x0, patch);
}

/* `line`: this lane's first line of the first group, at its first pixel. `weights`: this lane's, of
 * the warp's filters at taps s = 0 and 1; `last` at the last s. All filters follow each other: what
 * is multiplied has to be in registers side by side, which takes as many moves as it has words. */
template <typename T, int KW, int S, int EACH>
__device__ __forceinline__ void multiply(const rows_shape &t, const uint32_t *line,
                                         const uint4 *weights, const uint4 *last,
                                         float (&sums)[EACH / 2][NT][4]) {
    constexpr int WORDS = words_of(KW, S, EACH);
#pragma unroll 1
    for (int q = 0; q < t.groups; q++) {
        uint32_t x[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i += 4) {
            const uint4 four = *(const uint4 *)(line + i);
            x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
        }
#pragma unroll
        for (int s = 0; s + 1 < KW; s += 2) {
            uint4 b[NT / 2];
#pragma unroll
            for (int n = 0; n < NT; n += 2)
                b[n / 2] = weights[(s / 2 * t.tiles + n) * 16];
#pragma unroll
            for (int m = 0; m < EACH / 2; m++) {
                const int low = 2 * m * S + s, high = low + S;
                const uint32_t a[4] = {x[word_at<S>(low)], x[word_at<S>(high)],
                                       x[word_at<S>(low + 1)], x[word_at<S>(high + 1)]};
#pragma unroll
                for (int n = 0; n < NT; n += 2) {
                    tn_matrix<T>::deep(sums[m][n], a[0], a[1], a[2], a[3], b[n / 2].x, b[n / 2].y);
                    tn_matrix<T>::deep(sums[m][n + 1], a[0], a[1], a[2], a[3], b[n / 2].z,
                                       b[n / 2].w);
                }
            }
        }
#pragma unroll
        for (int n = 0; n < NT && KW % 2; n += 4) {
            const uint4 b = last[n * 8];
#pragma unroll
            for (int m = 0; m < EACH / 2; m++) {
                const int low = 2 * m * S + KW - 1, high = low + S;
                const uint32_t a[2] = {x[word_at<S>(low)], x[word_at<S>(high)]};
                tn_matrix<T>::flat(sums[m][n], a[0], a[1], b.x);
                tn_matrix<T>::flat(sums[m][n + 1], a[0], a[1], b.y);
                tn_matrix<T>::flat(sums[m][n + 2], a[0], a[1], b.z);
                tn_matrix<T>::flat(sums[m][n + 3], a[0], a[1], b.w);
            }
        }
        line += 4 * t.lane_step * t.pitch;
        weights += t.tiles * 8 * KW;
        last += t.tiles * 8 * KW;
    }
}

} // namespace

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few channels (cuda_few.cu): how a block brings its weights and the lines of
 * its input into shared memory.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_FEW_LINES_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_FEW_LINES_CUH

#include "conv/cuda/cuda_few.cuh"

namespace {

__device__ __forceinline__ void load_weights(const uint4 *from, int count, uint4 *to) {
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += THREADS)
        to[i] = __ldg(from + i);
}

/* How lines become words: one each; two, every line again in the next word; two by two. */
enum { ONE = 0, OVERLAPPED = 1, PAIRS = 2 };

/* A warp brings neighbouring lines, four words of three columns a lane at once. `X`: float, or the
 * bits of 16-bit numbers. */
template <typename T, typename X, int MODE>
__device__ __forceinline__ void load_lines(const tn_cuda_direct &d, const few_shape &t,
                                           const X *image, int y0, int x0, uint32_t *patch) {
    constexpr int WORDS = 4, COLUMNS = 3, EACH_LINE = MODE == PAIRS ? 2 : 1;
    constexpr int LINES = MODE == ONE ? WORDS : MODE == PAIRS ? 2 * WORDS : WORDS + 1;
    const int of_warp = (t.lines + WARPS - 1) / WARPS, first = (threadIdx.x >> 5) * of_warp;
    const int end = min(first + of_warp, t.lines);
    const int plane = d.in_height * d.in_width;
    const int pixel_step = d.is_x_linear ? 1 : d.channels, row_step = d.in_width * pixel_step;
    const int channel_step = d.is_x_linear ? plane : 1;
    for (int column = threadIdx.x & 31; column < t.columns; column += 32 * COLUMNS) {
        bool is_inside[COLUMNS];
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            const int x = x0 + column + 32 * i;
            is_inside[i] = x >= 0 && x < d.in_width;
        }
        const X *from = image + (x0 + column) * pixel_step;
        uint32_t *to = patch + first * t.pitch + column;
        for (int line = first; line < end; line += WORDS) {
            X values[LINES][COLUMNS];
#pragma unroll
            for (int j = 0; j < LINES; j++) {
                uint32_t c;
                const int y = y0 + (int)tn_divide_rest((uint32_t)(line * EACH_LINE + j),
                                                       t.channel_divider, &c);
                const bool is_row = y >= 0 && y < d.in_height;
                const X *row = from + (int)c * channel_step + y * row_step;
#pragma unroll
                for (int i = 0; i < COLUMNS; i++)
                    values[j][i] = is_row && is_inside[i] ? __ldg(row + 32 * i * pixel_step) : (X)0;
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

template <typename T, typename X>
__device__ __forceinline__ void load_patch(const tn_cuda_direct &d, const few_shape &t,
                                           const X *image, int y0, int x0, uint32_t *patch) {
    if constexpr (tn_matrix<T>::each == 1)
        load_lines<T, X, ONE>(d, t, image, y0, x0, patch);
    else if (t.line_step == 1)
        load_lines<T, X, OVERLAPPED>(d, t, image, y0, x0, patch);
    else
        load_lines<T, X, PAIRS>(d, t, image, y0, x0, patch);
}

} // namespace

#endif

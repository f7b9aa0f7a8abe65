/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct convolution (cuda_direct.cu): how a block's work is cut, what it loads to shared
 * memory, adds up and stores. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_DIRECT_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_DIRECT_CUH

#include "conv/cuda/cuda_conv.h"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

enum { MOST_THREADS = 512, MOST_SHARED = 48 * 1024, PARTS = 8 };

struct direct_shape {
    int rows, across, items, splits; /* output rows; threads a row, of all rows; of each of these */
    int tile_rows, pitch, pixels;    /* of a channel's input: rows, floats a row, floats */
    int tile_floats, weight_floats;  /* of shared memory, rounded up to 16 bytes */
    bool is_run; /* a channel's tile lies in memory as in shared memory, 16 bytes by 16 bytes */
    int lines;   /* rows of the window in all channels */
    int each_lines, whole_splits; /* of a split; from which one on it has one less */
    int step, step_rows, wrap; /* `splits` lines on: floats of the tile, rows of the window; floats
                                  more at the window's end */
    int window_rows;           /* rows of windows in `rows` */
    int groups;                /* of threads that add up one pixel's splits; or all splits */
    tn_divider pitch_divider, row_divider, pack_divider, item_divider, across_divider;
    tn_divider height_divider, group_divider, pixel_divider;
    tn_divider window_row_divider, window_column_divider, window_rows_divider;
};

/* `count` floats in memory order. */
__device__ __forceinline__ void copy_run(float *to, const float *from, int count) {
    int done = 0;
    if (((uintptr_t)from & 15) == 0) {
        done = count / 4 * 4;
        for (int i = threadIdx.x * 4; i < done; i += blockDim.x * 4)
            tn_copy_sixteen(to + i, from + i);
    }
    for (int i = done + threadIdx.x; i < count; i += blockDim.x)
        tn_copy_four(to + i, from + i, true);
}

/* Where in the input's planes a piece of 16 bytes of the tile lies; less than 0: outside of them.
 */
__device__ __forceinline__ int find_pack(const tn_cuda_conv &d, const direct_shape &t, int y0,
                                         int i) {
    const int plane = d.in_height * d.in_width;
    uint32_t pack;
    const int c = (int)tn_divide_rest((uint32_t)i, t.pack_divider, &pack);
    const int at = y0 * d.in_width + (int)pack * 4;
    return i < d.channels * t.pixels / 4 && at < plane ? c * plane + at : -1;
}

/* A tile that lies in memory as it is. `own`: the thread's first piece, null: it has none. */
__device__ __forceinline__ void stage_run(const tn_cuda_conv &d, const direct_shape &t,
                                          const float *planes, int y0, const float *own,
                                          float *tile) {
    if (own) tn_copy_sixteen(tile + threadIdx.x * 4, own);
    for (int i = threadIdx.x + blockDim.x; i < d.channels * t.pixels / 4; i += blockDim.x) {
        const int next = find_pack(d, t, y0, i);
        if (next >= 0) tn_copy_sixteen(tile + i * 4, planes + next);
    }
}

/* Any tile. `y0`: the first row of input. */
__device__ __forceinline__ void stage(const tn_cuda_conv &d, const direct_shape &t,
                                      const float *planes, int y0, float *tile) {
    const int plane = d.in_height * d.in_width, count = d.channels * t.pixels;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        uint32_t column, row;
        const uint32_t line = tn_divide_rest((uint32_t)i, t.pitch_divider, &column);
        const int c = (int)tn_divide_rest(line, t.row_divider, &row);
        const int x = (int)column - d.pad_left, y = y0 + (int)row;
        const bool is_inside = x >= 0 && x < d.in_width && y >= 0 && y < d.in_height;
        tn_copy_four(tile + i, is_inside ? planes + c * plane + y * d.in_width + x : planes,
                     is_inside);
    }
}

/* One kernel row of one channel. KW 0: any width. */
template <int KW, int F, int Q>
__device__ __forceinline__ void add_line(const tn_cuda_conv &d, const float *row, const float *w,
                                         int taps, float (&sums)[F][Q]) {
    if constexpr (Q == 4) {
        const float4 low = *(const float4 *)row, high = *(const float4 *)(row + 4);
        const float x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int f = 0; f < F; f++)
#pragma unroll
            for (int s = 0; s < KW; s++)
#pragma unroll
                for (int i = 0; i < Q; i++)
                    sums[f][i] = fmaf(w[f * taps + s], x[s + i], sums[f][i]);
    } else {
        const int width = KW ? KW : d.kernel_width;
#pragma unroll
        for (int s = 0; s < width; s++)
#pragma unroll
            for (int f = 0; f < F; f++)
                sums[f][0] = fmaf(w[f * taps + s], row[s * d.dilation_width], sums[f][0]);
    }
}

/* The lines of one thread: every t.splits-th, from its row `r` of the window on. */
template <int KW, int F, int Q>
__device__ __forceinline__ void add_lines(const tn_cuda_conv &d, const direct_shape &t,
                                          const float *x, const float *weights, int taps, int r,
                                          int count, float (&sums)[F][Q]) {
    const int width = KW ? KW : d.kernel_width;
    const int step = t.step, rows = t.step_rows, wrap = t.wrap, height = d.kernel_height;
    for (; count > 0; count--) {
        add_line<KW, F, Q>(d, x, weights, taps, sums);
        weights += t.splits * width;
        x += step;
        r += rows;
        if (r >= height) {
            r -= height;
            x += wrap;
        }
    }
}

/* An element of the convolution, as one thread adds it up and stores it. */
struct direct_pixel {
    float *to; /* null: there is none */
    const float *residual;
    float bias;
};

/* `plane`: of the block's first filter, `bias` of it. */
template <int F, int Q>
__device__ __forceinline__ direct_pixel find_pixel(const tn_cuda_conv &d, const direct_shape &t,
                                                   int64_t plane, int filters, int y0,
                                                   const float *bias, int i) {
    uint32_t item, column;
    direct_pixel p = {};
    const int f = (int)tn_divide_rest((uint32_t)i / Q, t.item_divider, &item);
    const int y = y0 + (int)tn_divide_rest(item, t.across_divider, &column);
    const int x = (int)column * Q + i % Q;
    if (f >= filters || x >= d.out_width || y >= d.out_height) return p;
    const int64_t at = ((plane + f) * d.out_height + y) * d.out_width + x;
    p.to = d.y + at;
    p.residual = d.residual ? d.residual + at : nullptr;
    p.bias = bias[f];
    return p;
}

/* By addresses of shared memory, which the compiler would find anew at every use of a pointer. */
__device__ __forceinline__ float load_shared(int address) {
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
    return x;
}
__device__ __forceinline__ void store_shared(int address, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}

/* Every `step`-th of `count` parts from `first` on, `pixels` numbers from each other; the part 0 of
 * the pixel lies at `address`. */
__device__ __forceinline__ float add_parts(int address, int first, int count, int step,
                                           int pixels) {
    float sum = 0;
#pragma unroll 1
    for (int s = first; s < count; s += PARTS * step) {
        float x[PARTS];
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            const int part = s + k * step;
            x[k] = load_shared(address + (part < count ? part : s) * pixels * 4);
            x[k] = part < count ? x[k] : 0;
        }
        sum += ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }
    return sum;
}

/* Adds up what is left of a pixel and stores it, or leaves it at `address` for the windows. */
template <int F, int Q>
__device__ __forceinline__ void join(const tn_cuda_conv &d, const direct_shape &t,
                                     const direct_pixel &p, float residual, int address,
                                     bool has_windows) {
    if (!p.to) return;
    float sum = add_parts(address, 0, t.groups, 1, F * t.items * Q);
    sum = tn_cuda_activate(d.activation, sum + p.bias + residual);
    if (has_windows)
        store_shared(address, sum);
    else
        *p.to = sum;
}

/* A window, as one thread finds its largest element. */
struct direct_window {
    float *to;             /* null: there is none */
    int at, rows, columns; /* its first element in what join has left, and its extents */
};

/* A window's rows are all of one block. */
template <int F, int Q>
__device__ __forceinline__ direct_window find_window(const tn_cuda_conv &d, const direct_shape &t,
                                                     int64_t plane, int filters, int y0, int i) {
    uint32_t column, row;
    direct_window w = {};
    const uint32_t line = tn_divide_rest((uint32_t)i, t.window_column_divider, &column);
    const int f = (int)tn_divide_rest(line, t.window_rows_divider, &row);
    const int y = (int)tn_divide((uint32_t)y0, t.window_row_divider) + (int)row;
    if (f >= filters || y >= d.y_height) return w;
    const int x = (int)column * d.window_width, first = (int)row * d.window_height;
    w.to = d.y + ((plane + f) * d.y_height + y) * d.y_width + (int)column;
    w.at = (f * t.items + first * t.across) * Q + x;
    w.rows = min(d.window_height, d.out_height - y0 - first);
    w.columns = min(d.window_width, d.out_width - x);
    return w;
}

__device__ __forceinline__ float keep_larger(float largest, float value) {
    return !(value <= largest) && largest == largest ? value : largest;
}

/* Stores the largest element of a window of what join has left. */
__device__ __forceinline__ void keep_largest(const direct_window &w, int pitch, int address) {
    float largest = -INFINITY;
    if (!w.to) return;
    int line = address + w.at * 4;
#pragma unroll 1
    for (int y = 0; y < w.rows; y++, line += pitch * 4)
#pragma unroll 2
        for (int x = 0; x < w.columns; x++)
            largest = keep_larger(largest, load_shared(line + x * 4));
    *w.to = largest;
}

} // namespace

#endif

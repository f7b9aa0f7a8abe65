/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution in 32-bit floats of layers so small that latency is all there is, in one trip
 * to memory: a block brings the input of some rows of an output with its borders, and the weights
 * of 1, 2 or 4 filters, into shared memory at once. A thread then has one pixel, or four neighbours
 * where steps of one let them share what is read; threads share out the window's rows of all
 * channels, (c, r), and add up in the end, and may keep the largest element of each pooling window
 * alone. Channels first, groups too; weights are taken as the node has them.
 *
 * Limited by latency, and beyond some millions of products by reading shared memory; what does not
 * fit there is not done. See cuda_conv.h.
 */
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

/* `count` floats as they lie. */
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

template <int KW, int F, int Q>
__global__ void __launch_bounds__(MOST_THREADS)
    direct_kernel(const __grid_constant__ tn_cuda_conv d, const __grid_constant__ direct_shape t) {
    extern __shared__ uint4 shared_memory[];
    const int taps = d.channels * d.kernel_height * d.kernel_width;
    const int filter = blockIdx.y * F, filters = min(F, d.filters - filter);
    const int y0 = blockIdx.x * t.rows, thread = threadIdx.x;
    uint32_t group, item, column, r, pixel;
    tn_divide_rest(blockIdx.z, t.group_divider, &group);
    float *tile = (float *)shared_memory, *weights = tile + t.tile_floats;
    float *parts = weights + t.weight_floats;
    const int first = group * d.filters + filter, pixels = F * t.items * Q;
    copy_run(weights, d.weights + (int64_t)first * taps, filters * taps);

    /* All that does not need the kernel in front. */
    const bool has_windows = d.window_height > 1 || d.window_width > 1;
    const int64_t plane = (int64_t)blockIdx.z * d.filters + filter;
    const float *planes = d.x + (int64_t)blockIdx.z * d.channels * d.in_height * d.in_width;
    const int x_y0 = y0 * d.stride_height - d.pad_top;
    const int from = t.is_run ? find_pack(d, t, x_y0, thread) : -1;
    const float *own_pack = from >= 0 ? planes + from : nullptr;
    const int split = (int)tn_divide_rest((uint32_t)thread, t.item_divider, &item);
    const int row = (int)tn_divide_rest(item, t.across_divider, &column);
    const int c = (int)tn_divide_rest((uint32_t)split, t.height_divider, &r);
    int x_at = (row * d.stride_height + (int)r * d.dilation_height) * t.pitch +
               (int)column * Q * d.stride_width + c * t.pixels;
    int lines = split < t.splits ? t.each_lines - (split >= t.whole_splits) : 0;
    int line_row = (int)r, w_at = split * (KW ? KW : d.kernel_width);
    int part_at = split * pixels + (int)item * Q;
    const int adder = (int)tn_divide_rest((uint32_t)thread, t.pixel_divider, &pixel);
    int parts_at = (int)__cvta_generic_to_shared(parts), own_at = parts_at + thread * 4;
    int add_at = parts_at + (int)pixel * 4, add_first = adder < t.groups ? adder : t.splits;
    direct_pixel own = find_pixel<F, Q>(d, t, plane, filters, y0, d.bias + first, thread);
    direct_window window = {};
    const int windows = has_windows ? F * t.window_rows * d.y_width : 0;
    if (has_windows) window = find_window<F, Q>(d, t, plane, filters, y0, thread);
    tn_cuda_keep(own_pack), tn_cuda_keep(x_at), tn_cuda_keep(lines), tn_cuda_keep(line_row);
    tn_cuda_keep(w_at), tn_cuda_keep(part_at), tn_cuda_keep(add_at), tn_cuda_keep(add_first);
    tn_cuda_keep(parts_at), tn_cuda_keep(own_at);
    tn_cuda_keep(own.to), tn_cuda_keep(own.residual), tn_cuda_keep(window.to);
    tn_cuda_keep(window.at), tn_cuda_keep(window.rows), tn_cuda_keep(window.columns);
    tn_cuda_wait_for_last();

    if (t.is_run)
        stage_run(d, t, planes, x_y0, own_pack, tile);
    else
        stage(d, t, planes, x_y0, tile);
    const float residual = own.residual ? *own.residual : 0;
    tn_copy_wait();
    __syncthreads();
    tn_cuda_start_next(); /* not before: what it brings would be in the way of what is needed here
                           */
    if (lines > 0) {
        float sums[F][Q] = {};
        add_lines<KW, F, Q>(d, t, tile + x_at, weights + w_at, taps, line_row, lines, sums);
#pragma unroll
        for (int f = 0; f < F; f++) {
            float *to = parts + part_at + f * t.items * Q;
            if constexpr (Q == 4)
                *(float4 *)to = make_float4(sums[f][0], sums[f][1], sums[f][2], sums[f][3]);
            else
                *to = sums[f][0];
        }
    }
    __syncthreads();
    if (t.groups < t.splits) { /* several threads add up one pixel */
        const float sum = add_parts(add_at, add_first, t.splits, t.groups, pixels);
        if (add_first < t.splits) store_shared(add_at + add_first * pixels * 4, sum);
        __syncthreads();
    }
    join<F, Q>(d, t, own, residual, own_at, has_windows);
    for (int i = thread + blockDim.x; i < pixels; i += blockDim.x) {
        const direct_pixel p = find_pixel<F, Q>(d, t, plane, filters, y0, d.bias + first, i);
        join<F, Q>(d, t, p, p.residual ? *p.residual : 0, parts_at + i * 4, has_windows);
    }
    if (!has_windows) return;
    __syncthreads();
    keep_largest(window, t.across * Q, parts_at);
    for (int i = thread + blockDim.x; i < windows; i += blockDim.x)
        keep_largest(find_window<F, Q>(d, t, plane, filters, y0, i), t.across * Q, parts_at);
}

/* Neighbouring positions of a thread. */
int positions_of(const tn_cuda_conv *d) {
    return d->stride_width == 1 && d->dilation_width == 1 &&
                   (d->kernel_width == 3 || d->kernel_width == 5)
               ? 4
               : 1;
}

/* `config->rows` is what there may be at most. */
direct_shape shape_of(const tn_cuda_conv *d, const tn_cuda_conv_config *config) {
    const int each = positions_of(d);
    direct_shape t = {};
    t.lines = d->channels * d->kernel_height;
    t.rows = config->rows < d->out_height ? config->rows : d->out_height;
    t.rows = (t.rows + d->window_height - 1) / d->window_height * d->window_height;
    t.across = (d->out_width + each - 1) / each;
    t.items = t.rows * t.across;
    t.splits = t.items < MOST_THREADS ? MOST_THREADS / t.items : 1;
    t.each_lines = (t.lines + t.splits - 1) / t.splits;
    t.splits = (t.lines + t.each_lines - 1) / t.each_lines;
    t.whole_splits = t.lines - (t.each_lines - 1) * t.splits;
    t.tile_rows = (t.rows - 1) * d->stride_height + (d->kernel_height - 1) * d->dilation_height + 1;
    t.pitch = each == 4 ? t.across * 4 + 4
                        : (d->out_width - 1) * d->stride_width +
                              (d->kernel_width - 1) * d->dilation_width + 1;
    t.pixels = t.tile_rows * t.pitch;
    const int bottom =
        (d->out_height - 1) * d->stride_height + (d->kernel_height - 1) * d->dilation_height + 1;
    t.is_run = bottom <= d->in_height && d->pad_top == 0 && d->pad_left == 0 &&
               t.pitch == d->in_width && d->in_width % 4 == 0;
    const int line = d->dilation_height * t.pitch;
    t.step_rows = t.splits % d->kernel_height;
    t.step = t.splits / d->kernel_height * t.pixels + t.step_rows * line;
    t.wrap = t.pixels - d->kernel_height * line;
    t.tile_floats = (d->channels * t.pixels + 3) / 4 * 4;
    t.item_divider = tn_divider_make((uint32_t)t.items);
    t.across_divider = tn_divider_make((uint32_t)t.across);
    t.pitch_divider = tn_divider_make((uint32_t)t.pitch);
    t.row_divider = tn_divider_make((uint32_t)t.tile_rows);
    t.pack_divider = tn_divider_make((uint32_t)(t.pixels < 4 ? 1 : t.pixels / 4));
    t.height_divider = tn_divider_make((uint32_t)d->kernel_height);
    t.group_divider = tn_divider_make((uint32_t)d->groups);
    t.window_rows = t.rows / d->window_height;
    t.window_row_divider = tn_divider_make((uint32_t)d->window_height);
    t.window_column_divider = tn_divider_make((uint32_t)(d->y_width > 0 ? d->y_width : 1));
    t.window_rows_divider = tn_divider_make((uint32_t)t.window_rows);
    return t;
}

/* What depends on how many filters a block has. */
void share_out(const tn_cuda_conv *d, int filters, direct_shape *t) {
    const int pixels = filters * t->items * positions_of(d);
    const int groups = t->items * t->splits / pixels;
    const int taps = d->channels * d->kernel_height * d->kernel_width;
    t->weight_floats = (filters * taps + 3) / 4 * 4;
    t->groups = groups >= 2 && t->splits >= 3 * groups ? groups : t->splits;
    t->pixel_divider = tn_divider_make((uint32_t)pixels);
}

size_t bytes_of(const tn_cuda_conv *d, const direct_shape *t, int filters) {
    return ((size_t)t->tile_floats + (size_t)t->weight_floats +
            (size_t)t->splits * filters * t->items * positions_of(d)) *
           sizeof(float);
}

template <int F>
cudaError_t launch_as(const tn_cuda_conv *d, const tn_cuda_conv_config *config,
                      cudaStream_t stream) {
    direct_shape t = shape_of(d, config);
    share_out(d, F, &t);
    const size_t bytes = bytes_of(d, &t, F);
    const unsigned int threads = (unsigned int)(t.items * t.splits + 31) / 32 * 32;
    const dim3 grid((d->out_height + t.rows - 1) / t.rows, (d->filters + F - 1) / F,
                    d->batch * d->groups);
    if (threads > MOST_THREADS || bytes > MOST_SHARED) return cudaErrorInvalidValue;
    switch (d->kernel_width * 10 + positions_of(d)) {
    case 11:
        return tn_cuda_launch_early(direct_kernel<1, F, 1>, grid, threads, bytes, stream, *d, t);
    case 31:
        return tn_cuda_launch_early(direct_kernel<3, F, 1>, grid, threads, bytes, stream, *d, t);
    case 34:
        return tn_cuda_launch_early(direct_kernel<3, F, 4>, grid, threads, bytes, stream, *d, t);
    case 54:
        return tn_cuda_launch_early(direct_kernel<5, F, 4>, grid, threads, bytes, stream, *d, t);
    default:
        return tn_cuda_launch_early(direct_kernel<0, F, 1>, grid, threads, bytes, stream, *d, t);
    }
}

cudaError_t launch(const tn_cuda_conv *d, const tn_cuda_conv_config *config, cudaStream_t stream) {
    return config->filters == 1   ? launch_as<1>(d, config, stream)
           : config->filters == 2 ? launch_as<2>(d, config, stream)
                                  : launch_as<4>(d, config, stream);
}

bool fits(const tn_cuda_conv *d, const tn_cuda_conv_config *config) {
    direct_shape t = shape_of(d, config);
    if (d->out_width > MOST_THREADS || t.items > MOST_THREADS ||
        (int64_t)t.tile_rows * t.pitch * d->channels >= MOST_SHARED ||
        (int64_t)d->channels * d->kernel_height * d->kernel_width >= MOST_SHARED ||
        (int64_t)d->batch * d->groups >= 65536)
        return false;
    share_out(d, config->filters, &t);
    return bytes_of(d, &t, config->filters) <= MOST_SHARED;
}

/* Few rows of an output a block where outputs are small, more of them where they are not. */
bool choose(const tn_cuda_conv *d, uint32_t index, tn_cuda_conv_config *out_config) {
    const int32_t filters[] = {1, 2, 4}, pixels[] = {32, 64, 128};
    const double work = (double)d->batch * d->groups * d->filters * d->out_height * d->out_width *
                        d->channels * d->kernel_height * d->kernel_width;
    if ((int64_t)d->groups * d->filters >= 65536 || d->out_width > MOST_THREADS ||
        d->out_height > 4096 || work > 1e8)
        return false;
    for (const int32_t p : pixels) {
        const int32_t rows = (p + d->out_width - 1) / d->out_width;
        if (p > pixels[0] && rows > d->out_height) continue;
        for (const int32_t f : filters) {
            const tn_cuda_conv_config config = {rows, 0, f, 0};
            if (f > d->filters || !fits(d, &config) || index-- > 0) continue;
            *out_config = config;
            return true;
        }
    }
    return false;
}

} // namespace

extern "C" const tn_cuda_conv_kind tn_cuda_direct = {false, choose, fits, launch, NULL, NULL};

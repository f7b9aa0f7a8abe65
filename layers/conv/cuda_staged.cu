/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution of layers so small that latency is all there is, in one trip to memory: a
 * block brings the input of some rows of an output with its borders, and the weights of 1, 2 or 4
 * filters, into shared memory at once. A thread then has one position, or four neighbours where
 * steps of one let them share what is read; threads share out the kernel's rows of all channels and
 * add up in the end, and may keep the largest element of each window alone. Weights are taken as
 * the node has them. See cuda_direct.h; cuda_small.cu does the same without shared memory, for what
 * does not fit there.
 */
#include "common/cuda/copy.cuh"
#include "common/cuda/launch.cuh"
#include "common/cuda/number.cuh"
#include "conv/cuda_direct.h"

namespace {

enum { MOST_THREADS = 512, MOST_SHARED = 48 * 1024 };

struct staged_shape {
    int rows, across, items, splits; /* output rows; threads a row, of all rows; of each of these */
    int tile_rows, pitch, pixels;    /* of a channel's input: rows, floats a row, floats */
    bool is_run; /* a channel's tile lies in memory as in shared memory, 16 bytes by 16 bytes */
    int step_channels, step_rows; /* `splits` lines on: channels, and rows of the window */
    tn_divider pitch_divider, row_divider, pack_divider, item_divider, across_divider;
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

/* `y0`: the first row of input. */
__device__ __forceinline__ void stage(const tn_cuda_direct &d, const staged_shape &t,
                                      const float *planes, int y0, float *tile) {
    const int plane = d.in_height * d.in_width, count = d.channels * t.pixels;
    if (t.is_run) {
        const int first = y0 * d.in_width;
        for (int i = threadIdx.x; i < count / 4; i += blockDim.x) {
            uint32_t pack;
            const int c = (int)tn_divide_rest((uint32_t)i, t.pack_divider, &pack);
            const int at = first + (int)pack * 4;
            if (at < plane) tn_copy_sixteen(tile + i * 4, planes + c * plane + at);
        }
        return;
    }
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
__device__ __forceinline__ void add_line(const tn_cuda_direct &d, const float *row, const float *w,
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

template <int KW, int F, int Q>
__device__ __forceinline__ void add_lines(const tn_cuda_direct &d, const staged_shape &t,
                                          const float *x, const float *weights, int taps, int split,
                                          float (&sums)[F][Q]) {
    const int lines = d.channels * d.kernel_height, width = KW ? KW : d.kernel_width;
    int c = split / d.kernel_height, r = split - c * d.kernel_height;
#pragma unroll 2
    for (int line = split; line < lines; line += t.splits) {
        add_line<KW, F, Q>(d, x + c * t.pixels + r * d.dilation_height * t.pitch,
                           weights + line * width, taps, sums);
        r += t.step_rows;
        c += t.step_channels;
        if (r >= d.kernel_height) {
            r -= d.kernel_height;
            c++;
        }
    }
}

/* An element of the convolution: what the splits have, added up. `place`: of it in `parts`. */
template <int F, int Q>
__device__ __forceinline__ float add_up(const tn_cuda_direct &d, const staged_shape &t,
                                        const float *parts, int place, float bias,
                                        const float *residual) {
    float sum = bias;
#pragma unroll 8
    for (int s = 0; s < t.splits; s++)
        sum += parts[s * F * t.items * Q + place];
    if (residual) sum += *residual;
    return tn_cuda_activate(d.activation, sum);
}

/* As join, and stores the largest element of each window; a window's rows are all of one block. */
template <int F, int Q>
__device__ __forceinline__ void join_windows(const tn_cuda_direct &d, const staged_shape &t,
                                             int image, int group, int filter, int y0,
                                             const float *parts) {
    const int rows = t.rows / d.window_height, first = y0 / d.window_height;
    const int count = F * rows * d.y_width;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int line = i / d.y_width, column = i - line * d.y_width;
        const int f = line / rows, row = line - f * rows;
        if (filter + f >= d.filters || first + row >= d.y_height) continue;
        const float bias = __ldg(d.bias + group * d.filters + filter + f);
        const int64_t plane = (int64_t)image * d.filters + filter + f;
        const int x_end = min((column + 1) * d.window_width, d.out_width);
        const int y_end = min((row + 1) * d.window_height, d.out_height - y0);
        float largest = -INFINITY;
        for (int y = row * d.window_height; y < y_end; y++)
            for (int x = column * d.window_width; x < x_end; x++) {
                const float *residual =
                    d.residual ? d.residual + (plane * d.out_height + y0 + y) * d.out_width + x
                               : nullptr;
                const int place = (f * t.items + y * t.across + x / Q) * Q + x % Q;
                const float value = add_up<F, Q>(d, t, parts, place, bias, residual);
                if (!(value <= largest) && largest == largest) largest = value;
            }
        d.y[(plane * d.y_height + first + row) * d.y_width + column] = largest;
    }
}

/* Adds up what the splits have and stores it. */
template <int F, int Q>
__device__ __forceinline__ void join(const tn_cuda_direct &d, const staged_shape &t, int image,
                                     int group, int filter, int y0, const float *parts) {
    const int each = t.items * Q;
    for (int i = threadIdx.x; i < F * each; i += blockDim.x) {
        uint32_t item, column;
        const int f = (int)tn_divide_rest((uint32_t)i / Q, t.item_divider, &item);
        const int y = y0 + (int)tn_divide_rest(item, t.across_divider, &column);
        const int x = (int)column * Q + i % Q;
        if (filter + f >= d.filters || x >= d.out_width || y >= d.out_height) continue;
        const float bias = __ldg(d.bias + group * d.filters + filter + f);
        const int64_t to =
            (((int64_t)image * d.filters + filter + f) * d.out_height + y) * d.out_width + x;
        d.y[to] = add_up<F, Q>(d, t, parts, i, bias, d.residual ? d.residual + to : nullptr);
    }
}

template <int KW, int F, int Q>
__global__ void __launch_bounds__(MOST_THREADS)
    staged_kernel(const __grid_constant__ tn_cuda_direct d,
                  const __grid_constant__ staged_shape t) {
    extern __shared__ uint4 shared_memory[];
    const int taps = d.channels * d.kernel_height * d.kernel_width;
    const int blocks = (d.filters + F - 1) / F, group = blockIdx.y / blocks;
    const int filter = (blockIdx.y - group * blocks) * F, image = blockIdx.z * d.groups + group;
    const int y0 = blockIdx.x * t.rows;
    float *tile = (float *)shared_memory, *weights = tile + (d.channels * t.pixels + 3) / 4 * 4;
    float *parts = weights + (F * taps + 3) / 4 * 4;
    tn_cuda_start_next();
    copy_run(weights, d.weights + (int64_t)(group * d.filters + filter) * taps,
             min(F, d.filters - filter) * taps);
    tn_cuda_wait_for_last();
    stage(d, t, d.x + (int64_t)image * d.channels * d.in_height * d.in_width,
          y0 * d.stride_height - d.pad_top, tile);
    tn_copy_wait();
    __syncthreads();
    uint32_t item, column;
    const int split = (int)tn_divide_rest(threadIdx.x, t.item_divider, &item);
    const int row = (int)tn_divide_rest(item, t.across_divider, &column), x = (int)column * Q;
    if (split < t.splits) {
        float sums[F][Q] = {};
        add_lines<KW, F, Q>(d, t, tile + row * d.stride_height * t.pitch + x * d.stride_width,
                            weights, taps, split, sums);
#pragma unroll
        for (int f = 0; f < F; f++)
#pragma unroll
            for (int i = 0; i < Q; i++)
                parts[((split * F + f) * t.items + (int)item) * Q + i] = sums[f][i];
    }
    __syncthreads();
    if (d.window_height == 1 && d.window_width == 1)
        join<F, Q>(d, t, image, group, filter, y0, parts);
    else
        join_windows<F, Q>(d, t, image, group, filter, y0, parts);
}

/* Neighbouring positions of a thread. */
int positions_of(const tn_cuda_direct *d) {
    return d->stride_width == 1 && d->dilation_width == 1 &&
                   (d->kernel_width == 3 || d->kernel_width == 5)
               ? 4
               : 1;
}

/* `config->rows` is what there may be at most. */
staged_shape shape_of(const tn_cuda_direct *d, const tn_cuda_direct_config *config) {
    const int each = positions_of(d), lines = d->channels * d->kernel_height;
    staged_shape t = {};
    t.rows = config->rows < d->out_height ? config->rows : d->out_height;
    t.rows = (t.rows + d->window_height - 1) / d->window_height * d->window_height;
    t.across = (d->out_width + each - 1) / each;
    t.items = t.rows * t.across;
    t.splits = t.items < MOST_THREADS ? MOST_THREADS / t.items : 1;
    if (t.splits > lines) t.splits = lines;
    t.tile_rows = (t.rows - 1) * d->stride_height + (d->kernel_height - 1) * d->dilation_height + 1;
    t.pitch = each == 4 ? t.across * 4 + 4
                        : (d->out_width - 1) * d->stride_width +
                              (d->kernel_width - 1) * d->dilation_width + 1;
    t.pixels = t.tile_rows * t.pitch;
    const int bottom =
        (d->out_height - 1) * d->stride_height + (d->kernel_height - 1) * d->dilation_height + 1;
    t.is_run = bottom <= d->in_height && d->pad_top == 0 && d->pad_left == 0 &&
               t.pitch == d->in_width && d->in_width % 4 == 0;
    t.step_channels = t.splits / d->kernel_height;
    t.step_rows = t.splits % d->kernel_height;
    t.item_divider = tn_divider_make((uint32_t)t.items);
    t.across_divider = tn_divider_make((uint32_t)t.across);
    t.pitch_divider = tn_divider_make((uint32_t)t.pitch);
    t.row_divider = tn_divider_make((uint32_t)t.tile_rows);
    t.pack_divider = tn_divider_make((uint32_t)(t.pixels < 4 ? 1 : t.pixels / 4));
    return t;
}

size_t bytes_of(const tn_cuda_direct *d, const staged_shape *t, int filters) {
    const size_t taps = (size_t)d->channels * d->kernel_height * d->kernel_width;
    return (((size_t)d->channels * t->pixels + 3) / 4 * 4 + (filters * taps + 3) / 4 * 4 +
            (size_t)t->splits * filters * t->items * positions_of(d)) *
           sizeof(float);
}

template <int F>
cudaError_t launch(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                   cudaStream_t stream) {
    const staged_shape t = shape_of(d, config);
    const size_t bytes = bytes_of(d, &t, F);
    const unsigned int threads = (unsigned int)(t.items * t.splits + 31) / 32 * 32;
    const dim3 grid((d->out_height + t.rows - 1) / t.rows, d->groups * ((d->filters + F - 1) / F),
                    d->batch);
    if (threads > MOST_THREADS || bytes > MOST_SHARED) return cudaErrorInvalidValue;
    switch (d->kernel_width * 10 + positions_of(d)) {
    case 11:
        return tn_cuda_launch_early(staged_kernel<1, F, 1>, grid, threads, bytes, stream, *d, t);
    case 31:
        return tn_cuda_launch_early(staged_kernel<3, F, 1>, grid, threads, bytes, stream, *d, t);
    case 34:
        return tn_cuda_launch_early(staged_kernel<3, F, 4>, grid, threads, bytes, stream, *d, t);
    case 54:
        return tn_cuda_launch_early(staged_kernel<5, F, 4>, grid, threads, bytes, stream, *d, t);
    default:
        return tn_cuda_launch_early(staged_kernel<0, F, 1>, grid, threads, bytes, stream, *d, t);
    }
}

} // namespace

bool tn_cuda_staged_fits(const tn_cuda_direct *direct, const tn_cuda_direct_config *config) {
    const staged_shape t = shape_of(direct, config);
    return direct->out_width <= MOST_THREADS && t.items <= MOST_THREADS &&
           (int64_t)t.tile_rows * t.pitch * direct->channels < MOST_SHARED &&
           (int64_t)direct->channels * direct->kernel_height * direct->kernel_width < MOST_SHARED &&
           bytes_of(direct, &t, config->filters) <= MOST_SHARED;
}

/* Few rows of an output a block where outputs are small, more of them where they are not. */
bool tn_cuda_staged_choose(const tn_conv_geometry *g, tn_type, uint32_t index,
                           tn_cuda_direct_config *out_config) {
    const int32_t filters[] = {1, 2, 4}, positions[] = {32, 64, 128};
    if (g->groups * g->filters >= 65536 || g->out_width > MOST_THREADS || g->out_height > 4096)
        return false;
    const double work = (double)g->batch * (double)(g->groups * g->filters) *
                        (double)(g->out_height * g->out_width) *
                        (double)(g->channels * g->kernel_height * g->kernel_width);
    if (work > 1e8) return false;
    tn_cuda_direct direct = {};
    tn_cuda_direct_describe(g, &direct);
    for (const int32_t p : positions) {
        const int64_t rows = (p + g->out_width - 1) / g->out_width;
        if (p > positions[0] && rows > g->out_height) continue;
        for (const int32_t f : filters) {
            const tn_cuda_direct_config config = {f, 1, (int32_t)rows, 1, 0};
            if (f > g->filters || !tn_cuda_staged_fits(&direct, &config)) continue;
            if (index-- > 0) continue;
            *out_config = config;
            return true;
        }
    }
    return false;
}

cudaError_t tn_cuda_staged_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                  cudaStream_t stream) {
    switch (config->filters) {
    case 1:
        return launch<1>(direct, config, stream);
    case 2:
        return launch<2>(direct, config, stream);
    case 4:
        return launch<4>(direct, config, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

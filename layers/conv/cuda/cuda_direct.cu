/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution in 32-bit floats of layers so small that latency is all there is, in one trip
 * to memory: a block loads the input of some rows of an output with its borders, and the weights
 * of 1, 2 or 4 filters, into shared memory at once. A thread then has one pixel, or four neighbours
 * where steps of one let them share what is read; threads share out the window's rows of all
 * channels, (c, r), and add up in the end, and may keep the largest element of each pooling window
 * alone. Channels first, groups too; weights are taken as the node has them.
 *
 * Limited by latency, and beyond some millions of products by reading shared memory; what does not
 * fit there is not done. See cuda_conv.h.
 */
#include "conv/cuda/cuda_direct.cuh"

namespace {

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
    tn_cuda_start_next(); /* not before: what it loads would be in the way of what is needed here
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
            const tn_cuda_conv_config config = {rows, 0, f, 0, 0};
            if (f > d->filters || !fits(d, &config) || index-- > 0) continue;
            *out_config = config;
            return true;
        }
    }
    return false;
}

} // namespace

extern "C" const tn_cuda_conv_kind tn_cuda_direct = {false, choose, fits, launch, NULL, NULL};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution of layers so small that all there is to win is latency: a lane has one output
 * position and 1, 2 or 4 filters; the warps of a block share out the kernel's rows of all channels
 * and add up in the end. Any strides, dilations and paddings. See cuda_direct.h.
 */
#include "conv/cuda/cuda_direct.h"
#include <tenon/kit/cuda/launch.cuh>

namespace {

enum { MOST_SPLITS = 16, LANES = 32 };

template <int F> struct weights_of { float items[F]; };
template <> struct alignas(8) weights_of<2> { float items[2]; };
template <> struct alignas(16) weights_of<4> { float items[4]; };

/* One kernel row of one channel. KW 0: any width. */
template <int KW, int F>
__device__ __forceinline__ void add_line(const tn_cuda_direct &d, const float *row, int x0,
                                         const float *weights, float (&sums)[F]) {
    const int width = KW ? KW : d.kernel_width;
#pragma unroll
    for (int s = 0; s < width; s++) {
        const int x = x0 + s * d.dilation_width;
        const float in = x >= 0 && x < d.in_width ? row[x] : 0.0f;
        const weights_of<F> w = *(const weights_of<F> *)(weights + (int64_t)s * d.padded);
#pragma unroll
        for (int f = 0; f < F; f++)
            sums[f] = fmaf(w.items[f], in, sums[f]);
    }
}

/* The lines of this warp: `threadIdx.y` and every blockDim.y-th after it. */
template <int KW, int F>
__device__ __forceinline__ void add_lines(const tn_cuda_direct &d, const float *planes,
                                          const float *weights, int x0, int y0, float (&sums)[F]) {
    const int lines = d.channels * d.kernel_height, step = blockDim.y;
    int c = threadIdx.y / d.kernel_height, r = threadIdx.y - c * d.kernel_height;
#pragma unroll 2
    for (int line = threadIdx.y; line < lines; line += step) {
        const int y = y0 + r * d.dilation_height;
        if (y >= 0 && y < d.in_height)
            add_line<KW, F>(d, planes + ((int64_t)c * d.in_height + y) * d.in_width, x0,
                            weights + (int64_t)line * d.kernel_width * d.padded, sums);
        r += step;
        while (r >= d.kernel_height) {
            r -= d.kernel_height;
            c++;
        }
    }
}

template <int KW, int F>
__global__ void __launch_bounds__(LANES *MOST_SPLITS)
    small_kernel(const __grid_constant__ tn_cuda_direct d) {
    __shared__ float shared[MOST_SPLITS][F][LANES];
    const int plane = d.out_height * d.out_width, position = blockIdx.x * LANES + threadIdx.x;
    const int oy = position / d.out_width, ox = position - oy * d.out_width;
    const int blocks = d.padded / F, filter = blockIdx.y % blocks * F;
    const int image = blockIdx.z * d.groups + blockIdx.y / blocks, group = blockIdx.y / blocks;
    const int64_t taps = (int64_t)d.channels * d.kernel_height * d.kernel_width;
    float sums[F] = {};
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    if (position < plane)
        add_lines<KW, F>(d, d.x + (int64_t)image * d.channels * d.in_height * d.in_width,
                         d.weights + group * taps * d.padded + filter,
                         ox * d.stride_width - d.pad_left, oy * d.stride_height - d.pad_top, sums);
#pragma unroll
    for (int f = 0; f < F; f++)
        shared[threadIdx.y][f][threadIdx.x] = sums[f];
    __syncthreads();
    const int f = threadIdx.y;
    if (f >= F || filter + f >= d.filters || position >= plane) return;
    float sum = __ldg(d.bias + group * d.filters + filter + f);
    for (int i = 0; i < (int)blockDim.y; i++)
        sum += shared[i][f][threadIdx.x];
    const int64_t at = ((int64_t)image * d.filters + filter + f) * plane + position;
    if (d.residual) sum += d.residual[at];
    d.y[at] = tn_cuda_activate(d.activation, sum);
}

template <int F>
cudaError_t launch(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                   cudaStream_t stream) {
    const dim3 block(LANES, config->splits);
    const dim3 grid((d->out_height * d->out_width + LANES - 1) / LANES, d->groups * (d->padded / F),
                    d->batch);
    switch (d->kernel_width) {
    case 1:
        return tn_cuda_launch_early(small_kernel<1, F>, grid, block, 0, stream, *d);
    case 3:
        return tn_cuda_launch_early(small_kernel<3, F>, grid, block, 0, stream, *d);
    case 5:
        return tn_cuda_launch_early(small_kernel<5, F>, grid, block, 0, stream, *d);
    default:
        return tn_cuda_launch_early(small_kernel<0, F>, grid, block, 0, stream, *d);
    }
}

} // namespace

/* At least as many splits as filters a thread: a split stores a filter each. */
bool tn_cuda_small_choose(const tn_conv_geometry *g, tn_type, uint32_t index,
                          tn_cuda_direct_config *out_config) {
    const double work = (double)g->batch * (double)(g->groups * g->filters) *
                        (double)(g->out_height * g->out_width) *
                        (double)(g->channels * g->kernel_height * g->kernel_width);
    const int64_t lines = g->channels * g->kernel_height;
    const tn_cuda_direct_config configs[] = {
        {1, 1, 0, 16, 0}, {2, 1, 0, 16, 0}, {4, 1, 0, 16, 0}, {1, 1, 0, 8, 0}, {2, 1, 0, 8, 0},
        {4, 1, 0, 8, 0},  {1, 1, 0, 4, 0},  {2, 1, 0, 4, 0},  {4, 1, 0, 4, 0},
    };
    if (work > 1.5e8 || g->groups * (g->filters + 3) >= 65536) return false;
    for (const tn_cuda_direct_config &config : configs) {
        if (config.splits > 4 && config.splits > 2 * lines) continue;
        if (config.filters > g->filters) continue;
        if (index-- > 0) continue;
        *out_config = config;
        return true;
    }
    return false;
}

cudaError_t tn_cuda_small_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
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

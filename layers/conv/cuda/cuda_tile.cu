/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution by tiles of the image: a block brings the input of its tile with its borders,
 * and its filters' weights, channel by channel into shared memory; a thread keeps 8 neighbouring
 * positions (twice 4) of 4 or 8 filters in registers and reads a kernel row's inputs once for all
 * of them. Strides and dilations of one. Warps may share the channels of a tile (splits) and add up
 * in the end. See cuda_direct.h.
 */
#include "conv/cuda/cuda_direct.h"

namespace {

enum { LANES = 8, QUADS = 2, WIDTH = LANES * 4 * QUADS, MOST_SHARED = 48 * 1024 };

/* Floats of a row of the tile in shared memory. */
#define PITCH_OF(kernel_width) (WIDTH + ((kernel_width) + 2) / 4 * 4)

/* Threads of a block, x to z: lanes by rows, groups of filters, splits. */
struct tile_shape {
    int rows, filter_groups, splits;
    int chunk; /* channels in shared memory at once; a multiple of splits */
};

template <int KW>
__device__ __forceinline__ void load_tile(const tn_cuda_direct &d, const tile_shape &t,
                                          const float *plane, int first, int count, int x0, int y0,
                                          float *tile) {
    constexpr int PITCH = PITCH_OF(KW);
    const int lines = t.rows + d.kernel_height - 1;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int warp = thread >> 5, warps = blockDim.x * blockDim.y * blockDim.z >> 5;
    for (int i = warp; i < count * lines; i += warps) {
        const int c = i / lines, y = y0 - d.pad_top + i - c * lines;
        const float *row = plane + ((int64_t)(first + c) * d.in_height + y) * d.in_width;
        const bool is_row = y >= 0 && y < d.in_height;
#pragma unroll
        for (int k = 0; k < (PITCH + 31) / 32; k++) {
            const int at = k * 32 + (thread & 31), x = x0 - d.pad_left + at;
            if (at < PITCH)
                tile[i * PITCH + at] = is_row && x >= 0 && x < d.in_width ? __ldg(row + x) : 0.0f;
        }
    }
}

/* The block's filters of `lines` kernel rows. */
template <int KW>
__device__ __forceinline__ void load_weights(const float *from, int padded, int block, int count,
                                             float *to) {
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y * blockDim.z, quads = block / 4;
    for (int i = thread; i < count * KW * quads; i += threads) {
        const int line = i / quads, at = i - line * quads;
        ((float4 *)to)[i] = __ldg((const float4 *)(from + (int64_t)line * padded) + at);
    }
}

template <int KW, int F>
__device__ __forceinline__ void multiply(const float *x, const float *w, int block,
                                         float (&sums)[F][4 * QUADS]) {
    constexpr int VECTORS = (KW + 3 + 3) / 4;
    float in[QUADS][VECTORS * 4];
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            const float4 four = *(const float4 *)(x + q * LANES * 4 + v * 4);
            in[q][v * 4] = four.x, in[q][v * 4 + 1] = four.y;
            in[q][v * 4 + 2] = four.z, in[q][v * 4 + 3] = four.w;
        }
#pragma unroll
    for (int s = 0; s < KW; s++) {
        float weight[F];
#pragma unroll
        for (int v = 0; v < F / 4; v++) {
            const float4 four = *(const float4 *)(w + s * block + v * 4);
            weight[v * 4] = four.x, weight[v * 4 + 1] = four.y;
            weight[v * 4 + 2] = four.z, weight[v * 4 + 3] = four.w;
        }
#pragma unroll
        for (int f = 0; f < F; f++)
#pragma unroll
            for (int q = 0; q < QUADS; q++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    sums[f][q * 4 + i] = fmaf(weight[f], in[q][s + i], sums[f][q * 4 + i]);
    }
}

/* Adds up the splits' sums; those of split 0 are the whole then. `shared` has room for all others.
 */
template <int F>
__device__ __forceinline__ void add_splits(float *shared, float (&sums)[F][4 * QUADS]) {
    const int threads = blockDim.x * blockDim.y;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
    for (int f = 0; f < F; f++) {
        __syncthreads();
        if (threadIdx.z > 0)
#pragma unroll
            for (int i = 0; i < 4 * QUADS; i++)
                shared[((threadIdx.z - 1) * 4 * QUADS + i) * threads + thread] = sums[f][i];
        __syncthreads();
        if (threadIdx.z == 0)
            for (unsigned int z = 0; z + 1 < blockDim.z; z++)
#pragma unroll
                for (int i = 0; i < 4 * QUADS; i++)
                    sums[f][i] += shared[(z * 4 * QUADS + i) * threads + thread];
    }
}

__device__ __forceinline__ void store_four(const tn_cuda_direct &d, int64_t at, int x, float bias,
                                           const float *sums) {
    float out[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float value = sums[i] + bias;
        if (d.residual && x + i < d.out_width) value += __ldg(d.residual + at + i);
        out[i] = tn_cuda_activate(d.activation, value);
    }
    if ((d.out_width & 3) == 0) {
        *(float4 *)(d.y + at) = make_float4(out[0], out[1], out[2], out[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (x + i < d.out_width) d.y[at + i] = out[i];
}

template <int KW, int F>
__global__ void __launch_bounds__(256) tile_kernel(const tn_cuda_direct d, const tile_shape t) {
    extern __shared__ float4 shared_memory[];
    constexpr int PITCH = PITCH_OF(KW);
    const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES;
    const int block = F * t.filter_groups, blocks = d.padded / block;
    const int lines = t.rows + d.kernel_height - 1;
    const int x0 = blockIdx.x * WIDTH, y0 = blockIdx.y * t.rows;
    const int filter_block = blockIdx.z % blocks, image = blockIdx.z / blocks; /* and group */
    const int group = image % d.groups;
    float *tile = (float *)shared_memory, *weights = tile + t.chunk * lines * PITCH;
    const float *plane = d.x + (int64_t)image * d.channels * d.in_height * d.in_width;
    const float *from = d.weights + filter_block * block +
                        (int64_t)group * d.channels * d.kernel_height * KW * d.padded;
    float sums[F][4 * QUADS] = {};
    for (int first = 0; first < d.channels; first += t.chunk) {
        const int count = min(t.chunk, d.channels - first);
        if (first) __syncthreads();
        load_tile<KW>(d, t, plane, first, count, x0, y0, tile);
        load_weights<KW>(from + (int64_t)first * d.kernel_height * KW * d.padded, d.padded, block,
                         count * d.kernel_height, weights);
        __syncthreads();
        for (int c = threadIdx.z; c < count; c += t.splits) {
            const float *x = tile + (c * lines + row) * PITCH + lane * 4;
            const float *w = weights + c * d.kernel_height * KW * block + threadIdx.y * F;
            for (int r = 0; r < d.kernel_height; r++, x += PITCH, w += KW * block)
                multiply<KW, F>(x, w, block, sums);
        }
    }
    if (t.splits > 1) add_splits<F>(tile, sums);
    if (threadIdx.z > 0 || y0 + row >= d.out_height) return;
    const int first = filter_block * block + threadIdx.y * F;
#pragma unroll
    for (int f = 0; f < F; f++) {
        if (first + f >= d.filters) break;
        const int64_t y =
            (((int64_t)image * d.filters + first + f) * d.out_height + y0 + row) * d.out_width;
        const float bias = __ldg(d.bias + group * d.filters + first + f);
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const int x = x0 + (q * LANES + lane) * 4;
            if (x < d.out_width) store_four(d, y + x, x, bias, &sums[f][q * 4]);
        }
    }
}

size_t bytes_a_channel(const tn_cuda_direct_config *config, int64_t height, int64_t width) {
    const size_t lines = (size_t)(config->rows + height - 1);
    const size_t pitch = (size_t)PITCH_OF(width);
    const size_t filters = (size_t)(config->filters * config->filter_groups);
    return (lines * pitch + (size_t)(height * width) * filters) * sizeof(float);
}

const tn_cuda_direct_config configs[] = {
    {8, 4, 8, 1, 0},  {8, 2, 16, 1, 0}, {8, 8, 4, 1, 0}, {8, 2, 8, 2, 0},
    {8, 1, 8, 4, 0},  {8, 1, 16, 2, 0}, {4, 1, 8, 4, 0}, {4, 1, 16, 2, 0},
    {4, 1, 32, 1, 0}, {4, 2, 16, 1, 0}, {4, 4, 8, 1, 0}, {4, 1, 4, 8, 0},
};

template <int KW, int F>
cudaError_t launch(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                   cudaStream_t stream) {
    const size_t each = bytes_a_channel(config, d->kernel_height, KW);
    int chunk = (int)(MOST_SHARED / each) / config->splits * config->splits;
    const int most = (d->channels + config->splits - 1) / config->splits * config->splits;
    if (chunk > most) chunk = most;
    const int threads = LANES * config->rows * config->filter_groups;
    size_t bytes = (size_t)chunk * each;
    const size_t sums = (size_t)(config->splits - 1) * 4 * QUADS * threads * sizeof(float);
    if (bytes < sums) bytes = sums;
    const tile_shape shape = {config->rows, config->filter_groups, config->splits, chunk};
    const dim3 block(LANES * config->rows, config->filter_groups, config->splits);
    const dim3 grid((d->out_width + WIDTH - 1) / WIDTH,
                    (d->out_height + config->rows - 1) / config->rows,
                    d->batch * d->groups * (d->padded / (F * config->filter_groups)));
    tile_kernel<KW, F><<<grid, block, bytes, stream>>>(*d, shape);
    return cudaGetLastError();
}

template <int KW>
cudaError_t launch_width(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                         cudaStream_t stream) {
    return config->filters == 8 ? launch<KW, 8>(d, config, stream)
                                : launch<KW, 4>(d, config, stream);
}

bool is_wanted(const tn_conv_geometry *g, const tn_cuda_direct_config *config) {
    const int64_t block = config->filters * config->filter_groups;
    const int64_t padded = (g->filters + block - 1) / block * block;
    const int64_t least = (g->filters + 3) / 4 * 4;
    return (size_t)config->splits * bytes_a_channel(config, g->kernel_height, g->kernel_width) <=
               MOST_SHARED &&
           (config->splits == 1 || config->splits <= g->channels) && padded * 2 <= least * 3 &&
           (g->out_height + config->rows - 1) / config->rows < 65536 &&
           g->batch * g->groups * (padded / block) < 65536;
}

} // namespace

bool tn_cuda_tile_choose(const tn_conv_geometry *g, tn_type, uint32_t index,
                         tn_cuda_direct_config *out_config) {
    const bool is_odd = g->kernel_width == 1 || g->kernel_width == 3 || g->kernel_width == 5 ||
                        g->kernel_width == 7 || g->kernel_width == 9 || g->kernel_width == 11;
    if (!is_odd || g->kernel_height > 16 || g->stride_height != 1 || g->stride_width != 1 ||
        g->dilation_height != 1 || g->dilation_width != 1 || g->out_width < 24)
        return false;
    for (const tn_cuda_direct_config &config : configs) {
        if (!is_wanted(g, &config) || index-- > 0) continue;
        *out_config = config;
        return true;
    }
    return false;
}

cudaError_t tn_cuda_tile_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                cudaStream_t stream) {
    switch (direct->kernel_width) {
    case 1:
        return launch_width<1>(direct, config, stream);
    case 3:
        return launch_width<3>(direct, config, stream);
    case 5:
        return launch_width<5>(direct, config, stream);
    case 7:
        return launch_width<7>(direct, config, stream);
    case 9:
        return launch_width<9>(direct, config, stream);
    case 11:
        return launch_width<11>(direct, config, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

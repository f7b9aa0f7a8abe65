/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of few channels on tensor cores, in 16 bits or in 32-bit floats rounded to tf32: the
 * first layer of networks on images, where libraries fill up the channels to 8 or more. A block
 * brings the input of its tile, row by row and channel by channel ("lines"), into shared memory.
 * The depth of the product is a group of lines, one or two for each of a quad's four lanes, times
 * the window's width: since a lane has 8 neighbouring positions, what it has read of a line serves
 * all of them and all places of the window. A warp multiplies 64 positions by 32 filters.
 * Sums are 32-bit floats; the output has channels last. Lines and places that fill up a group have
 * weights of zero: infinities and NaN of the input show a few positions further than they should.
 * See cuda_direct.h; the parts are cuda_few_lines.cuh (to shared memory), cuda_few_sums.cuh (what a
 * warp multiplies and stores) and cuda_few_weights.cu.
 */
#include "conv/cuda/cuda_few.cuh"
#include "conv/cuda/cuda_few_lines.cuh"
#include "conv/cuda/cuda_few_sums.cuh"

namespace {

/* ----------------------------------------------------------------------------------------------
 * a block */

template <typename T, int KW, int S>
__global__ void __launch_bounds__(THREADS, AT_ONCE)
    few_kernel(const __grid_constant__ tn_cuda_direct d, const __grid_constant__ few_shape t) {
    extern __shared__ uint4 shared_memory[];
    const int weight_packs = t.groups * t.tiles * 8 * KW;
    uint4 *weights = shared_memory;
    uint32_t *patch = (uint32_t *)(weights + weight_packs);
    load_weights((const uint4 *)(const void *)d.weights + (int64_t)blockIdx.y * weight_packs,
                 weight_packs, weights);
    for (int tile = blockIdx.x; tile < t.count; tile += gridDim.x) {
        const int image = tile / (t.across * t.down), place = tile - image * t.across * t.down;
        const int y0 = place / t.across * t.rows, x0 = place % t.across * t.width;
        const int64_t first = (int64_t)image * d.channels * d.in_height * d.in_width;
        const int y = y0 * S - d.pad_top, x = x0 * S - d.pad_left;
        __syncthreads();
        if (tn_matrix<T>::each == 1 || d.x_type == TN_F32)
            load_patch<T>(d, t, d.x + first, y, x, patch);
        else
            load_patch<T>(d, t, (const uint16_t *)(const void *)d.x + first, y, x, patch);
        __syncthreads();
        multiply_tile<T, KW, S>(d, t, patch, weights, image, y0, x0);
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

few_shape shape_of(const tn_cuda_direct *d, const tn_cuda_direct_config *config) {
    const int stride = d->stride_width, width = tn_cuda_few_width(d->kernel_width, stride);
    const int each = d->type == TN_F32 ? 1 : 2, lines = d->channels * d->kernel_height;
    few_shape t = {};
    t.rows = config->rows;
    t.width = config->width;
    /* Two lines a word: only every second where no row begins between them. */
    t.line_step = each == 2 && d->channels * d->stride_height % 2 == 0 ? 2 : 1;
    t.row_step = d->channels * d->stride_height / t.line_step;
    t.lane_step = each / t.line_step;
    t.groups = (lines + 4 * each - 1) / (4 * each);
    t.lines = (t.rows - 1) * t.row_step + t.groups * 4 * t.lane_step;
    t.columns = (t.width - EACH) * stride + words_of(width, stride);
    t.pitch = (t.columns + 27) / 32 * 32 + 4;
    t.tiles = d->filters <= 32 ? 4 : 8;
    t.across = (d->out_width + t.width - 1) / t.width;
    t.down = (d->out_height + t.rows - 1) / t.rows;
    t.count = t.across * t.down * d->batch;
    t.channel_divider = tn_divider_make((uint32_t)d->channels);
    return t;
}

int64_t bytes_of(const few_shape *t, int width) {
    return ((int64_t)t->groups * t->tiles * 32 * width + (int64_t)t->lines * t->pitch) * 4;
}

template <typename T, int KW, int S>
cudaError_t launch_as(const tn_cuda_direct *d, const few_shape *t, cudaStream_t stream) {
    const int bytes = (int)bytes_of(t, KW),
              of_filters = (d->filters + t->tiles * 8 - 1) / (t->tiles * 8);
    int device = 0, processors = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(few_kernel<T, KW, S>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    /* As many blocks as run at once, and all with as many tiles. */
    const int at_once = processors * AT_ONCE;
    const int rounds = (t->count + at_once - 1) / at_once;
    const dim3 grid((t->count + rounds - 1) / rounds, of_filters);
    few_kernel<T, KW, S><<<grid, THREADS, bytes, stream>>>(*d, *t);
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                   cudaStream_t stream) {
    const int width = tn_cuda_few_width(d->kernel_width, d->stride_width);
    const few_shape t = shape_of(d, config);
    switch (width * 10 + d->stride_width) {
    case 31:
        return launch_as<T, 3, 1>(d, &t, stream);
    case 32:
        return launch_as<T, 3, 2>(d, &t, stream);
    case 51:
        return launch_as<T, 5, 1>(d, &t, stream);
    case 52:
        return launch_as<T, 5, 2>(d, &t, stream);
    case 71:
        return launch_as<T, 7, 1>(d, &t, stream);
    case 72:
        return launch_as<T, 7, 2>(d, &t, stream);
    case 91:
        return launch_as<T, 9, 1>(d, &t, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

bool does(const tn_conv_geometry *g) {
    return g->groups == 1 && g->channels <= 8 && g->channels * g->kernel_height <= MOST_LINES &&
           g->filters >= 16 && g->out_width >= 16 && g->stride_height == g->stride_width &&
           g->stride_width <= 2 && g->dilation_width == 1 && g->dilation_height == 1 &&
           tn_cuda_few_width(g->kernel_width, g->stride_width) && g->filters <= 4096;
}

/* Rows and columns of a tile; by stride. */
const tn_cuda_direct_config configs[2][5] = {
    {{32, 1, 8, 1, 32},
     {32, 1, 8, 1, 64},
     {32, 1, 16, 1, 32},
     {32, 1, 4, 1, 64},
     {32, 1, 4, 1, 32}},
    {{32, 1, 8, 1, 32},
     {32, 1, 8, 1, 16},
     {32, 1, 4, 1, 32},
     {32, 1, 4, 1, 16},
     {32, 1, 16, 1, 32}},
};

} // namespace

int tn_cuda_few_width(int64_t width, int64_t stride) {
    if (width > 9 || (stride == 2 && width > 7)) return 0;
    return width <= 3 ? 3 : width <= 5 ? 5 : width <= 7 ? 7 : 9;
}

bool tn_cuda_few_choose(const tn_conv_geometry *g, tn_type type, uint32_t index,
                        tn_cuda_direct_config *out_config) {
    if (!does(g)) return false;
    tn_cuda_direct direct = {};
    tn_cuda_direct_describe(g, &direct);
    direct.type = type;
    for (const tn_cuda_direct_config &config : configs[g->stride_width - 1]) {
        const few_shape t = shape_of(&direct, &config);
        if (bytes_of(&t, tn_cuda_few_width(g->kernel_width, g->stride_width)) > MOST_SHARED)
            continue;
        if (index-- > 0) continue;
        *out_config = config;
        return true;
    }
    return false;
}

cudaError_t tn_cuda_few_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                               cudaStream_t stream) {
    switch (direct->type) {
    case TN_F16:
        return launch<__half>(direct, config, stream);
    case TN_BF16:
        return launch<__nv_bfloat16>(direct, config, stream);
    default:
        return launch<tn_tf32_number>(direct, config, stream);
    }
}

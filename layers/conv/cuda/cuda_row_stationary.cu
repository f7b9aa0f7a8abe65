/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of up to 8 channels on tensor cores, the first layer of networks on images, where
 * libraries fill up the channels to 8 or more. Row-stationary (Chen, Emer, Sze, "Eyeriss", 2016):
 * a lane has 8 neighbouring output pixels, and what it has read of an input row serves all of them
 * and all columns s of the window. The depth of a product is four or eight rows (r, c) at one or
 * two s; a warp multiplies 64 pixels by 32 filters. Of a single image all warps of a block have
 * work where a lane has 2 pixels. A block loads its input to shared memory row
 * by row (cuda_row_stationary.cuh). The output has channels last.
 *
 * Limited by issue: a word of shared memory serves few products, and windows of an even width are
 * filled up to odd ones; activations but the simplest would cost every store. Rows that fill up a
 * group have weights of zero: infinities and NaN of the input show a few pixels further than they
 * should. See cuda_conv.h.
 */
#include "conv/cuda/cuda_row_stationary.cuh"
#include "kit/cuda/bounds.cuh"
#include <tenon/kit/cuda/launch.cuh>

namespace {

/* ----------------------------------------------------------------------------------------------
 * from sums to y */

__device__ __forceinline__ uint32_t byte_of(float x, float factor) { /* NaN: -128 */
    return (uint32_t)__float2int_rn(fminf(fmaxf(x * factor, -128.0f), 127.0f)) & 255u;
}

/* One pixel: four filters from `f` on, in 8 bits. */
__device__ __forceinline__ void store_bytes(const tn_cuda_conv &d, int64_t at, int f,
                                            const float *values) {
    int8_t *y = (int8_t *)(void *)d.y + at;
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        word |= byte_of(values[i], d.y_factor) << 8 * i;
    if (d.filters % 4 == 0) {
        *(uint32_t *)(void *)y = word;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (f + i < d.filters) y[i] = (int8_t)(word >> 8 * i & 255u);
}

/* One pixel: as many filters from `f` on as take 16 bytes, or four in 8 bits. */
template <typename T, int V>
__device__ __forceinline__ void store_filters(const tn_cuda_conv &d, const tn_cuda_bounds &b,
                                              int64_t at, int f, float (&values)[V]) {
    typedef typename stored<T>::type number;
    number *y = (number *)(void *)d.y + at;
    const number *residual = (const number *)(const void *)d.residual + at;
    const bool is_bytes = V == 4 && d.y_type == TN_I8;
    if (d.residual) {
        const int8_t *bytes = (const int8_t *)(const void *)d.residual + at;
#pragma unroll
        for (int i = 0; i < V; i++)
            if (f + i < d.filters)
                values[i] +=
                    is_bytes ? (float)bytes[i] * d.residual_scale : tn_number_load(residual[i], 0);
    }
    if (d.activation.kind == TN_ACTIVATION_LEAKY_RELU) {
#pragma unroll
        for (int i = 0; i < V; i++)
            values[i] = values[i] < 0.0f ? values[i] * b.slope : values[i];
    }
    tn_pack<number> pack;
#pragma unroll
    for (int i = 0; i < V; i++) {
        values[i] = tn_number_most(tn_number_least(values[i], b.high), b.low);
        if (V == 4) pack.words[i % 4] = __float_as_uint(values[i]);
    }
    if (is_bytes) {
        store_bytes(d, at, f, values);
        return;
    }
#pragma unroll
    for (int i = 0; i < V && V == 8; i += 2)
        pack.words[i / 2] = stored<T>::join(values[i], values[i + 1]);
    if (d.filters % V == 0) {
        tn_pack_store(y, pack);
        return;
    }
#pragma unroll
    for (int i = 0; i < V; i++)
        if (f + i < d.filters) y[i] = pack.items[i];
}

/* One pixel: all of its filters are there, and the activation is bounds. Rounding keeps the order,
 * so that 16-bit numbers may be bounded when they are. */
template <typename T, int V>
__device__ __forceinline__ void store_bounded(typename stored<T>::type *y, const tn_cuda_bounds &b,
                                              uint32_t low, uint32_t high,
                                              const float (&values)[V]) {
    typedef typename stored<T>::type number;
    tn_pack<number> pack;
    if constexpr (V == 8) {
#pragma unroll
        for (int i = 0; i < V; i += 2)
            pack.words[i / 2] =
                tn_cuda_bound_two(number(), stored<T>::join(values[i], values[i + 1]), low, high);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            pack.words[i] =
                __float_as_uint(tn_number_most(tn_number_least(values[i], b.high), b.low));
    }
    tn_pack_store(y, pack);
}

/* What a lane has of `filters` from `first` on. `row` counts rows of all images; `filter` is the
 * warp's first. Columns of the sums are so many filters that a lane's, of several matrices, lie
 * beside each other. The sums have the bias. */
template <typename T, int EACH>
__device__ __forceinline__ void store(const tn_cuda_conv &d, int64_t row, int x, int filter,
                                      const float (&sums)[EACH / 2][NT][4]) {
    typedef typename stored<T>::type number;
    constexpr int V = 16 / (int)sizeof(number), TILES = V / 2;
    const tn_cuda_bounds b = tn_cuda_bounds_of(d.activation);
    const uint32_t low = stored<T>::join(b.low, b.low), high = stored<T>::join(b.high, b.high);
    const int first = filter + (threadIdx.x & 3) * V, pixels = d.out_width - x;
    const bool is_bounded = !d.residual && d.activation.kind != TN_ACTIVATION_LEAKY_RELU &&
                            d.filters % V == 0 && d.y_type != TN_I8;
    const int64_t at = (row * d.out_width + x) * d.filters + first;
#pragma unroll
    for (int n = 0; n < NT; n += TILES) {
        if (first + n * 8 >= d.filters) break;
        number *y = (number *)(void *)d.y + at + n * 8;
#pragma unroll
        for (int p = 0; p < EACH; p++) {
            if (p >= pixels) break;
            float values[V];
#pragma unroll
            for (int i = 0; i < V; i++)
                values[i] = sums[p / 2][n + i / 2][p % 2 * 2 + i % 2];
            if (is_bounded)
                store_bounded<T, V>(y + p * d.filters, b, low, high, values);
            else
                store_filters<T, V>(d, b, at + p * d.filters + n * 8, first + n * 8, values);
        }
    }
}

/* The sums begin as the bias. */
template <typename T, int EACH>
__device__ __forceinline__ void begin(const tn_cuda_conv &d, int filter,
                                      float (&sums)[EACH / 2][NT][4]) {
    constexpr int V = 16 / (int)sizeof(typename stored<T>::type), TILES = V / 2;
    const int first = filter + (threadIdx.x & 3) * V;
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int f = first + n / TILES * TILES * 8 + n % TILES * 2 + i;
            const float bias = f < d.filters ? __ldg(d.bias + f) : 0.0f;
#pragma unroll
            for (int m = 0; m < EACH / 2; m++)
                sums[m][n][i] = sums[m][n][i + 2] = bias;
        }
}

/* ----------------------------------------------------------------------------------------------
 * a block */

template <typename T, int KW, int S, int EACH>
__device__ __forceinline__ void multiply_tile(const tn_cuda_conv &d, const rows_shape &t,
                                              const uint32_t *patch, const uint4 *weights,
                                              int image, int y0, int x0) {
    const int lane = threadIdx.x & 31, g = lane >> 2, k = lane & 3;
    const int down = t.rows / rows_of(S), across = t.width / width_of(S, EACH);
    const int part_y = S == 1 ? g & 1 : g >> 1, part_x = S == 1 ? g >> 1 : g & 1;
    for (int item = threadIdx.x >> 5; item < down * across * (t.tiles / NT); item += WARPS) {
        const int part = item / (down * across), position = item - part * down * across;
        const int row = position / across * rows_of(S) + part_y;
        const int x = position % across * width_of(S, EACH) + part_x * EACH;
        const int filter = (blockIdx.y * t.tiles + part * NT) * 8;
        float sums[EACH / 2][NT][4];
        begin<T, EACH>(d, filter, sums);
        multiply<T, KW, S, EACH>(t, patch + (row * t.row_step + k * t.lane_step) * t.pitch + x * S,
                                 weights + part * NT * 16 + lane,
                                 weights + KW / 2 * t.tiles * 16 + part * NT * 8 + lane, sums);
        if (y0 + row < d.out_height)
            store<T, EACH>(d, (int64_t)image * d.out_height + y0 + row, x0 + x, filter, sums);
    }
}

/* Blocks of a multiprocessor; operands of two parts need more registers. */
template <typename T> constexpr int blocks_of() {
    return 2 / stored<T>::parts;
}

template <typename T, int KW, int S, int EACH>
__global__ void __launch_bounds__(THREADS, blocks_of<T>())
    row_stationary_kernel(const __grid_constant__ tn_cuda_conv d,
                          const __grid_constant__ rows_shape t) {
    extern __shared__ uint4 shared_memory[];
    tn_cuda_start_next();
    const int weight_count = t.groups * t.tiles * 8 * KW; /* 16 bytes each */
    const uint4 *from = (const uint4 *)(const void *)d.weights + (int64_t)blockIdx.y * weight_count;
    uint4 *weights = shared_memory;
    uint32_t *patch = (uint32_t *)(weights + weight_count);
#pragma unroll 4
    for (int i = threadIdx.x; i < weight_count; i += THREADS)
        weights[i] = __ldg(from + i);
    for (int i = t.loaded * t.pitch + threadIdx.x; i < t.lines * t.pitch; i += THREADS)
        patch[i] = 0;
    for (int tile = blockIdx.x; tile < t.count; tile += gridDim.x) {
        const int image = tile / (t.across * t.down), position = tile - image * t.across * t.down;
        const int y0 = position / t.across * t.rows, x0 = position % t.across * t.width;
        const int64_t first = (int64_t)image * d.channels * d.in_height * d.in_width;
        const int y = y0 * S - d.pad_top, x = x0 * S - d.pad_left;
        __syncthreads();
        if (tn_matrix<T>::each == 1 || d.x_type == TN_F32)
            load_patch<T, S>(d, t, d.x + first, y, x, patch);
        else
            load_patch<T, S>(d, t, (const uint16_t *)(const void *)d.x + first, y, x, patch);
        __syncthreads();
        multiply_tile<T, KW, S, EACH>(d, t, patch, weights, image, y0, x0);
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

/* The width of the window as the kernels are compiled; 0: none fits. */
int compiled_width(const tn_cuda_conv *d) {
    const int width = d->kernel_width;
    if (width > 9 || (d->stride_width == 2 && width > 7)) return 0;
    return width <= 3 ? 3 : width <= 5 ? 5 : width <= 7 ? 7 : 9;
}

rows_shape shape_of(const tn_cuda_conv *d, const tn_cuda_conv_config *config) {
    const int stride = d->stride_width, width = compiled_width(d);
    const int each = d->type == TN_F32 ? 1 : 2, lines = d->channels * d->kernel_height;
    rows_shape t = {};
    t.rows = config->rows;
    t.width = config->columns;
    /* Two lines a word: only every second where no row begins between them. */
    t.line_step = each == 2 && d->channels * d->stride_height % 2 == 0 ? 2 : 1;
    t.row_step = d->channels * d->stride_height / t.line_step;
    t.lane_step = each / t.line_step;
    t.groups = (lines + 4 * each - 1) / (4 * each);
    t.lines = (t.rows - 1) * t.row_step + t.groups * 4 * t.lane_step;
    const int read = t.line_step == 1 ? (t.rows - 1) * t.row_step + lines
                                      : ((t.rows - 1) * 2 * t.row_step + lines + 1) / 2;
    t.loaded = read < t.lines ? read : t.lines;
    t.columns = (t.width - config->pixels) * stride + words_of(width, stride, config->pixels);
    t.pitch = (t.columns + 27) / 32 * 32 + 4;
    t.tiles = d->filters <= 32 ? 4 : 8;
    t.across = (d->out_width + t.width - 1) / t.width;
    t.down = (d->out_height + t.rows - 1) / t.rows;
    t.count = t.across * t.down * d->batch;
    t.channel_divider = tn_divider_make((uint32_t)d->channels);
    return t;
}

int64_t bytes_of(const rows_shape *t, int width) {
    return ((int64_t)t->groups * t->tiles * 32 * width + (int64_t)t->lines * t->pitch) * 4;
}

bool fits(const tn_cuda_conv *d, const tn_cuda_conv_config *config) {
    const rows_shape t = shape_of(d, config);
    return bytes_of(&t, compiled_width(d)) <= MOST_SHARED;
}

bool choose(const tn_cuda_conv *d, uint32_t index, tn_cuda_conv_config *out_config) {
    static const tn_cuda_conv_config configs[2][3] = {
        {{8, 64, 0, 0, 8}, {4, 32, 0, 0, 8}, {4, 32, 0, 0, few_of(1)}},
        {{4, 32, 0, 0, 8}, {8, 32, 0, 0, 8}, {4, 32, 0, 0, few_of(2)}}};
    if (d->groups != 1 || d->channels > 8 || d->channels * d->kernel_height > MOST_LINES ||
        d->filters < 16 || d->filters > 4096 || d->out_width < 16 ||
        d->stride_height != d->stride_width || d->stride_width > 2 || d->dilation_width != 1 ||
        d->dilation_height != 1 || compiled_width(d) == 0)
        return false;
    for (const tn_cuda_conv_config &config : configs[d->stride_width - 1]) {
        if (!fits(d, &config) || index-- > 0) continue;
        *out_config = config;
        return true;
    }
    return false;
}

/* As many blocks as run at once, and all with as many tiles. */
template <typename T, int KW, int S, int EACH>
cudaError_t launch_as(const tn_cuda_conv *d, const rows_shape *t, cudaStream_t stream) {
    int device = 0, processors = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess) return error;
    const int at_once = processors * blocks_of<T>(), rounds = (t->count + at_once - 1) / at_once;
    const dim3 grid((t->count + rounds - 1) / rounds,
                    (d->filters + t->tiles * 8 - 1) / (t->tiles * 8));
    return launch_shared(row_stationary_kernel<T, KW, S, EACH>, grid, THREADS, bytes_of(t, KW),
                         stream, *d, *t);
}

template <typename T, int KW, int S>
cudaError_t launch_each(const tn_cuda_conv *d, const tn_cuda_conv_config *config,
                        cudaStream_t stream) {
    const rows_shape t = shape_of(d, config);
    return config->pixels == 8 ? launch_as<T, KW, S, 8>(d, &t, stream)
                               : launch_as<T, KW, S, few_of(S)>(d, &t, stream);
}

cudaError_t launch(const tn_cuda_conv *d, const tn_cuda_conv_config *config, cudaStream_t stream) {
    return launch_by_type(d, [&](auto number) {
        typedef decltype(number) T;
        switch (compiled_width(d) * 10 + d->stride_width) {
        case 31:
            return launch_each<T, 3, 1>(d, config, stream);
        case 32:
            return launch_each<T, 3, 2>(d, config, stream);
        case 51:
            return launch_each<T, 5, 1>(d, config, stream);
        case 52:
            return launch_each<T, 5, 2>(d, config, stream);
        case 71:
            return launch_each<T, 7, 1>(d, config, stream);
        case 72:
            return launch_each<T, 7, 2>(d, config, stream);
        case 91:
            return launch_each<T, 9, 1>(d, config, stream);
        default:
            return cudaErrorInvalidValue;
        }
    });
}

/* ----------------------------------------------------------------------------------------------
 * weights */

uint64_t get_weight_bytes(const tn_cuda_conv *d) {
    const int64_t lines = d->type == TN_F32 ? 4 : 8, block = d->filters <= 32 ? 32 : 64;
    return (uint64_t)((d->channels * d->kernel_height + lines - 1) / lines *
                      ((d->filters + block - 1) / block) * block * compiled_width(d) * 16);
}

/* In the order in which lanes read them, 32 words of 4 bytes a vector of a warp's lanes:
 *
 *   block of filters | group of lines | pair s, s + 1 | two tiles of 8 filters | lane | tile, s
 *                                     | last s        | four tiles             | lane | tile
 *
 * Lane 4j + i has of a tile filter column j, and line i of a group (lines 2i and 2i + 1 in 16
 * bits). Filter columns are numbered so that a lane's sums of joined tiles are filters beside each
 * other.
 */
void pack(const tn_cuda_conv *d, const void *from, void *to) {
    const int64_t width = compiled_width(d), each = d->type == TN_F32 ? 1 : 2, joined = 2 * each;
    const int64_t tiles = d->filters <= 32 ? 4 : 8, block = tiles * 8;
    const int64_t groups = (d->channels * d->kernel_height + 4 * each - 1) / (4 * each);
    pack_weights(d, from, to, [&](int64_t k, int64_t c, int64_t r, int64_t s) {
        const int64_t of = k % block, in = of % (joined * 8); /* of a block, of joined tiles */
        const int64_t tile = of / (joined * 8) * joined + in % (joined * 2) / 2;
        const int64_t column = in / (joined * 2) * 2 + in % 2;
        const int64_t line = r * d->channels + c, group = line / (4 * each);
        const int64_t lane = column * 4 + line / each % 4;
        const int64_t base = (k / block * groups + group) * tiles * 32 * width;
        const int64_t word =
            s + 1 < width ? ((s / 2 * tiles + tile) / 2 * 32 + lane) * 4 + tile % 2 * 2 + s % 2
                          : (width / 2 * tiles * 16 + tile / 4 * 32 + lane) * 4 + tile % 4;
        return (base + word) * each + line % each;
    });
}

} // namespace

extern "C" const tn_cuda_conv_kind tn_cuda_row_stationary = {false,  choose,           fits,
                                                             launch, get_weight_bytes, pack};
extern "C" const tn_cuda_conv_kind tn_cuda_row_stationary_tf32 = {true,   choose,           fits,
                                                                  launch, get_weight_bytes, pack};

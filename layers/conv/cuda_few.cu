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
 * See cuda_direct.h.
 */
#include "common/cuda/matrix.cuh"
#include "common/cuda/number.cuh"
#include "conv/cuda_direct.h"

#include <math.h>

extern "C" {
#include "common/element.h"
}

namespace {

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    AT_ONCE = 2, /* blocks of a multiprocessor */
    NT = 4,      /* tiles of 8 filters of a warp */
    EACH = 8,    /* neighbouring positions of a lane */
    MOST_SHARED = 160 * 1024,
    MOST_LINES = 64,
};

struct few_shape {
    int rows, width;         /* of output a block */
    int lines, columns;      /* of words in shared memory */
    int pitch;               /* words from one line to the next */
    int row_step, lane_step; /* lines from an output row to the next, from a lane to the next */
    int line_step;           /* lines of input from one of words to the next */
    int groups;              /* of lines that are multiplied at once */
    int tiles;               /* of 8 filters a block */
    int across, down, count; /* blocks of output: of an image, of all */
    tn_divider channel_divider;
};

/* Words that a lane reads of a line. */
__host__ __device__ constexpr int words_of(int width, int stride) {
    return ((EACH - 1) * stride + width + 3) / 4 * 4;
}
/* Output rows and columns of a warp: lanes that read at once differ in rows or, where strides bring
 * these to the same banks, in columns. */
__host__ __device__ constexpr int rows_of(int stride) {
    return stride == 1 ? 2 : 4;
}
__host__ __device__ constexpr int width_of(int stride) {
    return 8 / rows_of(stride) * EACH;
}

/* What a type is stored as, and a word of shared memory from values as they were loaded: `low` and
 * `high` are of neighbouring lines. */
template <typename T> struct stored;
template <> struct stored<__half> {
    typedef __half type;
    static __device__ __forceinline__ uint32_t word(float low, float high) {
        const __half2 two = __floats2half2_rn(low, high);
        return *(const uint32_t *)&two;
    }
};
template <> struct stored<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    static __device__ __forceinline__ uint32_t word(float low, float high) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
        return *(const uint32_t *)&two;
    }
};
template <> struct stored<tn_tf32_number> {
    typedef float type;
    static __device__ __forceinline__ uint32_t word(float low, float) { return tn_tf32_round(low); }
};
template <typename T> __device__ __forceinline__ uint32_t word_of(float low, float high) {
    return stored<T>::word(low, high);
}
/* 16-bit numbers as they are. */
template <typename T> __device__ __forceinline__ uint32_t word_of(uint16_t low, uint16_t high) {
    return (uint32_t)low | (uint32_t)high << 16;
}

/* ----------------------------------------------------------------------------------------------
 * to shared memory */

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

/* ----------------------------------------------------------------------------------------------
 * a warp */

/* `line`: this lane's first line of the first group, at its first position. `weights`: this lane's,
 * of the warp's filters in the first pair of places; `last` in the last place. */
template <typename T, int KW, int S>
__device__ __forceinline__ void multiply(const few_shape &t, const uint32_t *line,
                                         const uint4 *weights, const uint4 *last,
                                         float (&sums)[EACH / 2][NT][4]) {
    constexpr int WORDS = words_of(KW, S);
    const int group_words = 4 * t.lane_step * t.pitch;
    for (int q = 0; q < t.groups; q++) {
        uint32_t x[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i += 4) {
            const uint4 four = *(const uint4 *)(line + i);
            x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
        }
#pragma unroll
        for (int s = 0; s + 1 < KW; s += 2)
#pragma unroll
            for (int n = 0; n < NT; n += 2) {
                const uint4 b = weights[(s / 2 * t.tiles + n) * 16];
#pragma unroll
                for (int m = 0; m < EACH / 2; m++) {
                    const int low = 2 * m * S + s, high = low + S;
                    tn_matrix<T>::deep(sums[m][n], x[low], x[high], x[low + 1], x[high + 1], b.x,
                                       b.y);
                    tn_matrix<T>::deep(sums[m][n + 1], x[low], x[high], x[low + 1], x[high + 1],
                                       b.z, b.w);
                }
            }
#pragma unroll
        for (int n = 0; n < NT && KW % 2; n += 4) {
            const uint4 b = last[n * 8];
#pragma unroll
            for (int m = 0; m < EACH / 2; m++) {
                const int low = 2 * m * S + KW - 1, high = low + S;
                tn_matrix<T>::flat(sums[m][n], x[low], x[high], b.x);
                tn_matrix<T>::flat(sums[m][n + 1], x[low], x[high], b.y);
                tn_matrix<T>::flat(sums[m][n + 2], x[low], x[high], b.z);
                tn_matrix<T>::flat(sums[m][n + 3], x[low], x[high], b.w);
            }
        }
        line += group_words;
        weights += t.tiles * 8 * KW;
        last += t.tiles * 8 * KW;
    }
}

/* The simple activations: x times `slope` where negative, then within bounds. NaN stays NaN. */
struct bounds {
    bool has_slope;
    float slope, low, high;
};

__device__ __forceinline__ bounds bounds_of(const tn_cuda_activation &how) {
    bounds b = {how.kind == TN_ACTIVATION_LEAKY_RELU, how.alpha, -INFINITY, INFINITY};
    if (how.kind == TN_ACTIVATION_RELU) b.low = 0.0f;
    if (how.kind == TN_ACTIVATION_CLIP) b.low = how.alpha, b.high = how.beta;
    return b;
}

/* One position: 16 bytes of filters from `f` on. */
template <typename T, int V>
__device__ __forceinline__ void store_pack(const tn_cuda_direct &d, const bounds &b, int64_t at,
                                           int f, float (&values)[V]) {
    typedef typename stored<T>::type number;
    number *y = (number *)(void *)d.y + at;
    const number *residual = (const number *)(const void *)d.residual + at;
    const bool is_whole = d.filters % V == 0;
    if (d.residual) {
#pragma unroll
        for (int i = 0; i < V; i++)
            if (f + i < d.filters) values[i] += tn_number_load(residual[i], 0);
    }
    if (b.has_slope) {
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
#pragma unroll
    for (int i = 0; i < V && V == 8; i += 2)
        pack.words[i / 2] = stored<T>::word(values[i], values[i + 1]);
    if (is_whole) {
        tn_pack_store(y, pack);
        return;
    }
#pragma unroll
    for (int i = 0; i < V; i++)
        if (f + i < d.filters) y[i] = pack.items[i];
}

/* `row` counts rows of all images; `filter` is the warp's first. Columns of the sums are so many
 * filters that a lane's, of several tiles, lie beside each other. The sums have the bias. */
template <typename T>
__device__ __forceinline__ void store(const tn_cuda_direct &d, int64_t row, int x, int filter,
                                      const float (&sums)[EACH / 2][NT][4]) {
    constexpr int V = 16 / (int)sizeof(typename stored<T>::type), TILES = V / 2;
    const bounds b = bounds_of(d.activation);
    const int first = filter + (threadIdx.x & 3) * V;
    int64_t at = (row * d.out_width + x) * d.filters + first;
#pragma unroll
    for (int p = 0; p < EACH; p++, at += d.filters) {
        if (x + p >= d.out_width) break;
#pragma unroll
        for (int n = 0; n < NT; n += TILES) {
            if (first + n * 8 >= d.filters) break;
            float values[V];
#pragma unroll
            for (int i = 0; i < V; i++)
                values[i] = sums[p / 2][n + i / 2][p % 2 * 2 + i % 2];
            store_pack<T, V>(d, b, at + n * 8, first + n * 8, values);
        }
    }
}

/* The sums begin as the bias. */
template <typename T>
__device__ __forceinline__ void begin(const tn_cuda_direct &d, int filter,
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

template <typename T, int KW, int S>
__device__ __forceinline__ void multiply_tile(const tn_cuda_direct &d, const few_shape &t,
                                              const uint32_t *patch, const uint4 *weights,
                                              int image, int y0, int x0) {
    const int lane = threadIdx.x & 31, g = lane >> 2, k = lane & 3;
    const int down = t.rows / rows_of(S), across = t.width / width_of(S);
    const int part_y = S == 1 ? g & 1 : g >> 1, part_x = S == 1 ? g >> 1 : g & 1;
    for (int item = threadIdx.x >> 5; item < down * across * (t.tiles / NT); item += WARPS) {
        const int part = item / (down * across), place = item - part * down * across;
        const int row = place / across * rows_of(S) + part_y;
        const int x = place % across * width_of(S) + part_x * EACH;
        const int filter = (blockIdx.y * t.tiles + part * NT) * 8;
        float sums[EACH / 2][NT][4];
        begin<T>(d, filter, sums);
        multiply<T, KW, S>(t, patch + (row * t.row_step + k * t.lane_step) * t.pitch + x * S,
                           weights + part * NT * 16 + lane,
                           weights + KW / 2 * t.tiles * 16 + part * NT * 8 + lane, sums);
        if (y0 + row < d.out_height)
            store<T>(d, (int64_t)image * d.out_height + y0 + row, x0 + x, filter, sums);
    }
}

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

/* The width of the window as the kernels are compiled; 0: none fits. */
int padded_width(int64_t width, int64_t stride) {
    if (width > 9 || (stride == 2 && width > 7)) return 0;
    return width <= 3 ? 3 : width <= 5 ? 5 : width <= 7 ? 7 : 9;
}

few_shape shape_of(const tn_cuda_direct *d, const tn_cuda_direct_config *config) {
    const int stride = d->stride_width, width = padded_width(d->kernel_width, stride);
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
    const int width = padded_width(d->kernel_width, d->stride_width);
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
           padded_width(g->kernel_width, g->stride_width) && g->filters <= 4096;
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

bool tn_cuda_few_choose(const tn_conv_geometry *g, tn_type type, uint32_t index,
                        tn_cuda_direct_config *out_config) {
    if (!does(g)) return false;
    tn_cuda_direct direct = {};
    tn_cuda_direct_describe(g, &direct);
    direct.type = type;
    for (const tn_cuda_direct_config &config : configs[g->stride_width - 1]) {
        const few_shape t = shape_of(&direct, &config);
        if (bytes_of(&t, padded_width(g->kernel_width, g->stride_width)) > MOST_SHARED) continue;
        if (index-- > 0) continue;
        *out_config = config;
        return true;
    }
    return false;
}

uint64_t tn_cuda_few_bytes(const tn_conv_geometry *g, const tn_cuda_direct_config *, tn_type type) {
    const int64_t lines = type == TN_F32 ? 4 : 8, block = g->filters <= 32 ? 32 : 64;
    return (uint64_t)((g->channels * g->kernel_height + lines - 1) / lines *
                      ((g->filters + block - 1) / block) * block *
                      padded_width(g->kernel_width, g->stride_width) * 16);
}

/* The numbers of a launch in the order in which lanes read them: group of lines, pair of places,
 * tiles two by two, lane, and of each tile both places; then the last place, tiles four by four. */
void tn_cuda_few_pack(const tn_conv_geometry *g, const tn_cuda_direct_config *, tn_type type,
                      const float *from, void *to) {
    const int64_t width = padded_width(g->kernel_width, g->stride_width);
    const int64_t each = type == TN_F32 ? 1 : 2, packs = type == TN_F32 ? 2 : 4;
    const int64_t tiles = g->filters <= 32 ? 4 : 8, block = tiles * 8;
    const int64_t lines = g->channels * g->kernel_height;
    const int64_t groups = (lines + 4 * each - 1) / (4 * each);
    for (int64_t f = 0; f < g->filters; f++) {
        const int64_t of = f % block, in = of % (packs * 8); /* of a block, of joined tiles */
        const int64_t tile = of / (packs * 8) * packs + in % (packs * 2) / 2;
        const int64_t column = in / (packs * 2) * 2 + in % 2;
        for (int64_t line = 0; line < lines; line++) {
            const int64_t group = line / (4 * each), k = line / each % 4;
            const int64_t base = (f / block * groups + group) * tiles * 32 * width;
            const float *row = from + ((f * g->channels + line % g->channels) * g->kernel_height +
                                       line / g->channels) *
                                          g->kernel_width;
            for (int64_t s = 0; s < g->kernel_width; s++) {
                const int64_t lane = column * 4 + k;
                const int64_t word =
                    s + 1 < width || width % 2 == 0
                        ? ((s / 2 * tiles + tile) / 2 * 32 + lane) * 4 + tile % 2 * 2 + s % 2
                        : (width / 2 * tiles * 16 + tile / 4 * 32 + lane) * 4 + tile % 4;
                const int64_t at = (base + word) * each + line % each;
                if (type == TN_F32)
                    ((float *)to)[at] = tn_cuda_direct_tf32(row[s]);
                else
                    tn_element_store_f64(to, type, at, (double)row[s]);
            }
        }
    }
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few channels (cuda_few.cu): the sums of a warp. They begin as the bias, take
 * the products of the lines in shared memory, and are stored after residual and activation.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_FEW_SUMS_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_FEW_SUMS_CUH

#include "conv/cuda/cuda_few.cuh"

#include <math.h>

namespace {

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

__device__ __forceinline__ uint32_t byte_of(float x, float factor) { /* NaN: -128 */
    return (uint32_t)__float2int_rn(fminf(fmaxf(x * factor, -128.0f), 127.0f)) & 255u;
}

/* One position: four filters from `f` on, in 8 bits. */
__device__ __forceinline__ void store_bytes(const tn_cuda_direct &d, int64_t at, int f,
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

/* One position: as many filters from `f` on as take 16 bytes. */
template <typename T, int V>
__device__ __forceinline__ void store_pack(const tn_cuda_direct &d, const bounds &b, int64_t at,
                                           int f, float (&values)[V]) {
    typedef typename stored<T>::type number;
    number *y = (number *)(void *)d.y + at;
    const number *residual = (const number *)(const void *)d.residual + at;
    const bool is_whole = d.filters % V == 0;
    const bool is_bytes = V == 4 && d.y_type == TN_I8;
    if (d.residual) {
        const int8_t *bytes = (const int8_t *)(const void *)d.residual + at;
#pragma unroll
        for (int i = 0; i < V; i++)
            if (f + i < d.filters)
                values[i] +=
                    is_bytes ? (float)bytes[i] * d.residual_scale : tn_number_load(residual[i], 0);
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
    if (is_bytes) {
        store_bytes(d, at, f, values);
        return;
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

} // namespace

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block of a separable convolution does (cuda_separable.h): it loads its slice of the
 * weights before the kernel in front is done, then the pixels of x that its output pixels see, and
 * goes through the three products in shared memory. The last one is of its slice of the channels
 * alone; the blocks of a cluster send each other their sums and finish a part of the pixels each,
 * added up in the same order always. Private to cuda_separable.cu.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_SEPARABLE_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_SEPARABLE_CUH

#include "conv/cuda/cuda_number.cuh"
#include "conv/cuda/cuda_separable.h"
#include "kit/cuda/cluster.cuh"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/launch.cuh>

namespace {

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    PACK = 16, /* bytes of a copy; rows in shared memory have one more, so that 8 use all banks */
    COLUMNS = 32, /* of a warp's product; rows: 16 */
    WINDOW = 3,
    HIGH = 2,        /* output rows that a thread has of a window */
    MOST_SPLITS = 8, /* blocks of a cluster */
};

/* How the work is cut. Parts of the shared memory, bytes from its beginning: the sums lie where x
 * and e were. Pixels are counted through the rows of the block's output, or of its patch: what
 * these see of the input. */
struct separable_job : tn_cuda_separable {
    int32_t height, width, slice, splits; /* of a block's output; channels; blocks that share it */
    int32_t patch_width, patch_pixels, pixels, tiles_x;
    int32_t share; /* fours of the output that a block of the cluster finishes */
    int32_t at_rows, at_bias, at_project, at_expand, at_pixels, at_x, at_e, at_d, at_sums,
        at_joined;
    tn_divider by_tiles_x, by_patch_width, by_width, by_packs, by_fours, by_share;
};

__host__ __device__ __forceinline__ int round_up(int number, int to) {
    return (number + to - 1) / to * to;
}
/* Bytes from one row of 16-bit floats in shared memory to the next one. */
__host__ __device__ __forceinline__ int pitch_of(int elements) {
    return elements * 2 + PACK;
}
/* Floats from one pixel's sums to the next one's. */
__host__ __device__ __forceinline__ int sums_pitch(int filters) {
    return filters + 4;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* The part that a block has of an image. */
struct task {
    int channel, channels;  /* of the middle: the first, how many */
    int image, row, column; /* of the output's first pixel */
};

/* Begins to copy `rows` rows of whole packs, `pitch` bytes apart, to rows in shared memory. */
__device__ __forceinline__ void copy_rows(const void *from, int64_t pitch, int rows, int bytes,
                                          char *to, int to_pitch) {
    const int packs = bytes / PACK;
    for (int i = threadIdx.x; i < rows * packs; i += THREADS) {
        const int row = i / packs, at = (i - row * packs) * PACK;
        tn_copy_sixteen(to + row * to_pitch + at, (const char *)from + row * pitch + at);
    }
}

template <bool HAS_EXPAND, bool HAS_WINDOW>
__device__ __forceinline__ void copy_weights(const separable_job &s, const task &at, char *memory) {
    const char *project = (const char *)s.project + (int64_t)at.channel * 2;
    if constexpr (HAS_EXPAND)
        copy_rows((const char *)s.expand + (int64_t)at.channel * s.depth * 2, s.depth * 2,
                  at.channels, s.depth * 2, memory + s.at_expand, pitch_of(s.depth));
    if constexpr (HAS_WINDOW)
        copy_rows(s.rows + at.channel, (int64_t)s.middle * 4, TN_SEPARABLE_ROWS, at.channels * 4,
                  memory + s.at_rows, s.slice * 4);
    copy_rows(s.bias, 0, 1, s.filters * 4, memory + s.at_bias, 0);
    copy_rows(project, (int64_t)s.middle * 2, s.filters, at.channels * 2, memory + s.at_project,
              pitch_of(s.slice));
}

/* Where the patch's pixels lie in the image, in pixels; -1: outside, and those that fill up a
 * product's rows. */
__device__ __forceinline__ void find_pixels(const separable_job &s, const task &at, int *pixels) {
    for (int i = threadIdx.x; i < round_up(s.patch_pixels, 16); i += THREADS) {
        uint32_t x;
        const int y = (int)tn_divide_rest((uint32_t)i, s.by_patch_width, &x);
        const int row = at.row * s.stride - s.pad_top + y;
        const int column = at.column * s.stride - s.pad_left + (int)x;
        const bool is_inside = i < s.patch_pixels && row >= 0 && row < s.in_height && column >= 0 &&
                               column < s.in_width;
        pixels[i] = is_inside ? row * s.in_width + column : -1;
    }
}

/* Begins to copy `bytes` of each of the patch's pixels, when the kernel in front is done: zeros
 * where there is none, and behind the bytes up to whole products. */
__device__ __forceinline__ void copy_patch(const separable_job &s, const task &at,
                                           const int *pixels, int first, int bytes, char *to,
                                           int pitch) {
    constexpr int AT_ONCE = 4;
    const char *image =
        (const char *)s.x + ((int64_t)at.image * s.in_height * s.in_width * s.channels + first) * 2;
    const int count = s.patch_pixels * (int)s.by_packs.divisor;
    for (int start = 0; start < count; start += AT_ONCE * THREADS) {
        int from[AT_ONCE], there[AT_ONCE];
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++) {
            const int i = start + n * THREADS + (int)threadIdx.x;
            uint32_t pack;
            from[n] = there[n] = -1;
            if (i < count) {
                const int pixel = (int)tn_divide_rest((uint32_t)i, s.by_packs, &pack);
                const int of_image = pixels[pixel];
                there[n] = pixel * pitch + (int)pack * PACK;
                if (of_image >= 0 && (int)pack * PACK < bytes)
                    from[n] = of_image * s.channels * 2 + (int)pack * PACK;
            }
            tn_cuda_keep(from[n]), tn_cuda_keep(there[n]);
        }
        if (start == 0) {
            tn_cuda_wait_for_last();
            tn_cuda_start_next();
        }
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++)
            if (there[n] >= 0)
                tn_copy_sixteen(to + there[n], image + (from[n] >= 0 ? from[n] : 0), from[n] >= 0);
    }
}

/* NaN stays NaN. */
template <int N>
__device__ __forceinline__ void keep_between(const tn_cuda_separable_clamp &bounds, float (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++)
        x[i] = tn_number_least(tn_number_most(x[i], bounds.least), bounds.most);
}

/* Rows of a times rows of b, `depth` elements of each, 16 rows by PAIRS times 16 columns at a time,
 * which a warp hands to `store(row, column, sums)`: of row lane / 4 and 8 below it, two columns of
 * each eight. */
template <typename T, int PAIRS, typename Store>
__device__ __forceinline__ void multiply(const char *a, int a_pitch, int rows, const char *b,
                                         int b_pitch, int columns, int depth, const Store &store) {
    const int lane = threadIdx.x & 31, across = (columns + PAIRS * 16 - 1) / (PAIRS * 16);
    const int tasks = (rows + 15) / 16 * across;
    a += (lane & 15) * a_pitch + (lane >> 4) * PACK;
    b += ((lane & 7) + (lane >> 4) * 8) * b_pitch + (lane >> 3 & 1) * PACK;
    for (int task = threadIdx.x >> 5; task < tasks; task += WARPS) {
        const int row = task / across * 16, column = task % across * PAIRS * 16;
        const char *from_a = a + row * a_pitch, *from_b = b + column * b_pitch;
        float sums[PAIRS * 2][4] = {};
#pragma unroll(4 / PAIRS)
        for (int k = 0; k < depth * 2; k += 2 * PACK) {
            uint32_t of_a[4], of_b[PAIRS][4];
            tn_matrix_load(of_a, from_a + k);
#pragma unroll
            for (int j = 0; j < PAIRS; j++)
                tn_matrix_load(of_b[j], from_b + j * 16 * b_pitch + k);
#pragma unroll
            for (int j = 0; j < PAIRS * 2; j++)
                tn_matrix<T>::deep(sums[j], of_a[0], of_a[1], of_a[2], of_a[3],
                                   of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
        }
        store(row + (lane >> 2), column + (lane & 3) * 2, sums);
    }
}

/* e of the patch; 0 outside the image, which is what the window sees there. */
template <typename T>
__device__ __forceinline__ void expand(const separable_job &s, const task &at, char *memory) {
    const int *pixels = (const int *)(memory + s.at_pixels);
    char *e = memory + s.at_e;
    const int pitch = pitch_of(s.slice);
    const float *biases = (const float *)(memory + s.at_rows) + (TN_SEPARABLE_TAPS + 1) * s.slice;
    multiply<T, 2>(
        memory + s.at_x, pitch_of(s.depth), s.patch_pixels, memory + s.at_expand, pitch_of(s.depth),
        at.channels, s.depth, [&](int row, int column, const float(&sums)[4][4]) {
            const bool is_there = pixels[row] >= 0, is_next = pixels[row + 8] >= 0;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int channel = column + j * 8;
                if (channel >= at.channels) break;
                const float2 bias = *(const float2 *)(biases + channel);
                float four[4] = {sums[j][0] + bias.x, sums[j][1] + bias.y, sums[j][2] + bias.x,
                                 sums[j][3] + bias.y};
                keep_between(s.of_expand, four);
                char *to = e + row * pitch + channel * 2;
                *(uint32_t *)to = is_there ? stored<T>::join(four[0], four[1]) : 0;
                *(uint32_t *)(to + 8 * pitch) = is_next ? stored<T>::join(four[2], four[3]) : 0;
            }
        });
}

template <typename T> __device__ __forceinline__ float4 load_four(const char *from) {
    union {
        uint2 bits;
        T items[4];
    } all;
    all.bits = *(const uint2 *)from;
    return make_float4(tn_number_load(all.items[0], 0), tn_number_load(all.items[1], 0),
                       tn_number_load(all.items[2], 0), tn_number_load(all.items[3], 0));
}

__device__ __forceinline__ void add_product(float (&sum)[4], const float4 &a, const float4 &b) {
    sum[0] = fmaf(a.x, b.x, sum[0]), sum[1] = fmaf(a.y, b.y, sum[1]);
    sum[2] = fmaf(a.z, b.z, sum[2]), sum[3] = fmaf(a.w, b.w, sum[3]);
}

/* d of HIGH pixels below each other, four channels. */
template <typename T, int STRIDE>
__device__ __forceinline__ void slide(const separable_job &s, const char *e, int row, int column,
                                      int patch_rows, const float4 (&taps)[TN_SEPARABLE_TAPS],
                                      float (&sums)[HIGH][4]) {
    const int pitch = pitch_of(s.slice);
#pragma unroll
    for (int y = 0; y < (HIGH - 1) * STRIDE + WINDOW; y++) {
        if (row * STRIDE + y >= patch_rows) break;
        const char *from = e + ((row * STRIDE + y) * s.patch_width + column * STRIDE) * pitch;
#pragma unroll
        for (int x = 0; x < WINDOW; x++) {
            const float4 value = load_four<T>(from + x * pitch);
#pragma unroll
            for (int i = 0; i < HIGH; i++)
                if (y >= i * STRIDE && y < i * STRIDE + WINDOW)
                    add_product(sums[i], value, taps[(y - i * STRIDE) * WINDOW + x]);
        }
    }
}

/* The weights of the window's four channels that a thread has: in registers before the kernel in
 * front is done. */
struct window_weights {
    float4 taps[TN_SEPARABLE_TAPS], bias;
};
__device__ __forceinline__ void load_window(const separable_job &s, const task &at,
                                            const char *memory, window_weights &w) {
    const int quad = (int)threadIdx.x % (at.channels / 4);
    const float4 *weights = (const float4 *)(memory + s.at_rows) + quad;
#pragma unroll
    for (int i = 0; i < TN_SEPARABLE_TAPS; i++)
        w.taps[i] = weights[i * (s.slice / 4)];
    w.bias = weights[TN_SEPARABLE_TAPS * (s.slice / 4)];
}

template <typename T, int STRIDE>
__device__ __forceinline__ void apply_window(const separable_job &s, const task &at, char *memory,
                                             const window_weights &w) {
    const int quads = at.channels / 4, groups = THREADS / quads;
    const int group = (int)threadIdx.x / quads, quad = (int)threadIdx.x - group * quads;
    const int units = s.width * ((s.height + HIGH - 1) / HIGH), pitch = pitch_of(s.slice);
    const int patch_rows = (s.height - 1) * STRIDE + WINDOW;
    if (group >= groups) return;
    for (int unit = group; unit < units; unit += groups) {
        uint32_t column;
        const int row = (int)tn_divide_rest((uint32_t)unit, s.by_width, &column) * HIGH;
        float sums[HIGH][4];
#pragma unroll
        for (int i = 0; i < HIGH; i++)
            sums[i][0] = w.bias.x, sums[i][1] = w.bias.y, sums[i][2] = w.bias.z,
            sums[i][3] = w.bias.w;
        slide<T, STRIDE>(s, memory + s.at_e + quad * 8, row, (int)column, patch_rows, w.taps, sums);
        char *to = memory + s.at_d + (row * s.width + (int)column) * pitch + quad * 8;
#pragma unroll
        for (int i = 0; i < HIGH; i++) {
            if (row + i >= s.height) break;
            keep_between(s.of_window, sums[i]);
            *(uint2 *)(to + i * s.width * pitch) = make_uint2(
                stored<T>::join(sums[i][0], sums[i][1]), stored<T>::join(sums[i][2], sums[i][3]));
        }
    }
}

template <typename T, int PAIRS>
__device__ __forceinline__ void project_by(const separable_job &s, const task &at, char *memory) {
    float *to = (float *)(memory + s.at_sums);
    const int pitch = sums_pitch(s.filters);
    multiply<T, PAIRS>(memory + s.at_d, pitch_of(s.slice), s.pixels, memory + s.at_project,
                       pitch_of(s.slice), s.filters, at.channels,
                       [&](int row, int column, const float(&sums)[PAIRS * 2][4]) {
#pragma unroll
                           for (int j = 0; j < PAIRS * 2; j++) {
                               float *pair = to + row * pitch + column + j * 8;
                               if (column + j * 8 >= s.filters) break;
                               *(float2 *)pair = make_float2(sums[j][0], sums[j][1]);
                               *(float2 *)(pair + 8 * pitch) = make_float2(sums[j][2], sums[j][3]);
                           }
                       });
}
/* Few results: half as wide, so that more warps have some. */
template <typename T>
__device__ __forceinline__ void project(const separable_job &s, const task &at, char *memory) {
    if ((s.pixels + 15) / 16 * s.filters <= WARPS * COLUMNS / 2)
        project_by<T, 1>(s, at, memory);
    else
        project_by<T, 2>(s, at, memory);
}

/* Four filters of a pixel: where they lie in a block's sums, and in y; `to` below 0: not there. */
struct output {
    int sums;
    int64_t to;
    int filter;
};
__device__ __forceinline__ output find_output(const separable_job &s, const task &at, int index) {
    uint32_t four, column;
    const uint32_t pixel = tn_divide_rest((uint32_t)index, s.by_fours, &four);
    const int row = at.row + (int)tn_divide_rest(pixel, s.by_width, &column);
    const int x = at.column + (int)column, filter = (int)four * 4;
    const bool is_there = (int)pixel < s.pixels && row < s.out_height && x < s.out_width;
    const int64_t of_all = ((int64_t)at.image * s.out_height + row) * s.out_width + x;
    return {(int)pixel * sums_pitch(s.filters) + filter,
            is_there ? of_all * s.filters + filter : -1, filter};
}

__device__ __forceinline__ uint2 load_residual(const separable_job &s, const output &at) {
    if (!s.residual || at.to < 0) return make_uint2(0, 0);
    return __ldcg((const uint2 *)((const char *)s.residual + at.to * 2));
}

/* The sums to the blocks that finish them, `barrier` of which counts them. */
__device__ __forceinline__ void share_out(const separable_job &s, const char *memory,
                                          const uint64_t *barrier) {
    const float *sums = (const float *)(memory + s.at_sums);
    const uint32_t joined = tn_cuda_shared_address(memory + s.at_joined);
    const int count = s.pixels * (int)s.by_fours.divisor;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        uint32_t four, rest;
        const uint32_t pixel = tn_divide_rest((uint32_t)i, s.by_fours, &four);
        const uint32_t block = tn_divide_rest((uint32_t)i, s.by_share, &rest);
        const uint32_t to = blockIdx.x * (uint32_t)s.share + rest;
        tn_cuda_cluster_push(tn_cuda_cluster_address(joined + to * 16, block),
                             *(const float4 *)(sums + pixel * sums_pitch(s.filters) + four * 4),
                             tn_cuda_cluster_address(tn_cuda_shared_address(barrier), block));
    }
}

/* `index`: of the fours that the block finishes. */
__device__ __forceinline__ float4 add_sums(const separable_job &s, const output &at, int index,
                                           const char *memory) {
    if (s.splits == 1) return *(const float4 *)((const float *)(memory + s.at_sums) + at.sums);
    const float4 *from = (const float4 *)(memory + s.at_joined) + index;
    float4 parts[MOST_SPLITS];
#pragma unroll
    for (int i = 0; i < MOST_SPLITS; i++)
        parts[i] = i < s.splits ? from[i * s.share] : make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 1; i < MOST_SPLITS; i++)
        parts[0].x += parts[i].x, parts[0].y += parts[i].y, parts[0].z += parts[i].z,
            parts[0].w += parts[i].w;
    return parts[0];
}

template <typename T>
__device__ __forceinline__ void finish(const separable_job &s, const output &at, int index,
                                       uint2 residual, const char *memory) {
    if (at.to < 0) return;
    const float4 sum = add_sums(s, at, index, memory);
    const float4 bias = *(const float4 *)(memory + s.at_bias + at.filter * 4);
    const float4 more = load_four<T>((const char *)&residual);
    float four[4] = {sum.x + bias.x + more.x, sum.y + bias.y + more.y, sum.z + bias.z + more.z,
                     sum.w + bias.w + more.w};
    keep_between(s.of_project, four);
    *(uint2 *)((char *)s.y + at.to * 2) =
        make_uint2(stored<T>::join(four[0], four[1]), stored<T>::join(four[2], four[3]));
}

#endif

} // namespace

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The implicit GEMM of convolutions (cuda_implicit_gemm.cu): how the work is cut, and what a block
 * loads and multiplies. What becomes of its sums is cuda_implicit_gemm_split_k.cuh. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_IMPLICIT_GEMM_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_IMPLICIT_GEMM_CUH

#include "conv/cuda/cuda_number.cuh"
#include "kit/cuda/cluster.cuh"
#include <tenon/kit/cuda/launch.cuh>

namespace {

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    TILES = 7,          /* of 8 pixels a warp */
    PIXELS = TILES * 8, /* a warp */
    FILTERS = 32,       /* a warp, and a block */
    CHUNK = 64,         /* bytes of a pixel's channels that are multiplied at once */
    UNIT = FILTERS * CHUNK,
    FOURS = FILTERS / 4,
    PITCH = FILTERS + 4,        /* numbers from a pixel's sums to the next one's */
    OF_MEANS = WARPS * FILTERS, /* floats: a block's sums of pixels, a warp each */
    MOST_SPLITS = 8,            /* blocks of a cluster that every GPU of its kind can have */
    MOST_SHARED = 226 * 1024,
};

/* How a convolution is cut. The depth (c, r, s) is counted in units: a chunk of channels at one tap
 * (r, s). A patch is the input that a block's output pixels see, with zeros outside of the image;
 * its positions lie `pitch` bytes apart in shared memory. */
struct gemm_shape {
    int splits;             /* blocks that share out the units of a tile: a cluster */
    int all, units;         /* of a tile, of a block at most */
    int chunks;             /* of channels, that a block's units see at most */
    int taps;               /* of the window, R * S */
    int pixels, tiles;      /* of a block; blocks an image */
    int share;              /* pixels that each block of a cluster finishes */
    int rows, columns;      /* of a patch */
    int pitch, packs;       /* bytes; 16 bytes of all positions */
    int step_y, step_x;     /* input positions from one of the patch to the next */
    int stride_y, stride_x; /* positions of the patch from one output pixel to the next */
    int offset_y, offset_x; /* bytes of the patch from one tap to the next */
    tn_divider by_taps, by_window, by_packs, by_columns, by_width, by_share, by_tiles;
    int four_bits; /* of means: 2^four_bits times four filters are a block's to finish */
};

/* What products are added up in: those of bytes exactly, for the weights of a sum, 2^31 / 2^14 of
 * which would overflow, have to fit in the shared memory of its cluster with those of 31 others. */
template <typename T> struct sum_of { typedef float type; };
template <> struct sum_of<int8_t> { typedef int type; };

template <typename T> __device__ __forceinline__ uint4 words_of(uint4 bits) {
    return make_uint4(stored<T>::word(bits.x), stored<T>::word(bits.y), stored<T>::word(bits.z),
                      stored<T>::word(bits.w));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* What a block does. */
struct task {
    int image, first, end; /* output pixels p * Q + q: the first, and those of the image */
    int own;               /* pixels that the block finishes; of means all */
    int row;               /* p of the first */
    int chunk;             /* the first that it sees */
    int unit, units;       /* its first one, of that chunk's; how many */
};

/* The input of a block's image. */
template <typename type>
__device__ __forceinline__ const type *image_of(const tn_cuda_conv &d, const task &at) {
    const type *image = (const type *)(const void *)d.x +
                        (int64_t)at.image * (d.in_height * d.in_width) * d.x_pitch;
    tn_cuda_keep(image);
    return image;
}

/* All of the patch, several packs of a thread at once. Their offsets are computed before the kernel
 * in front is done. */
template <typename T>
__device__ __forceinline__ void load_patch(const tn_cuda_conv &d, const gemm_shape &t,
                                           const task &at, char *patch) {
    typedef typename stored<T>::type type;
    constexpr int EACH = 16 / (int)sizeof(type), AT_ONCE = 8;
    const int y0 = at.row * d.stride_height - d.pad_top;
    const type *image = image_of<type>(d, at);
    for (int first = 0; first < t.packs; first += THREADS * AT_ONCE) {
        int from[AT_ONCE], to[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            uint32_t pack, column;
            from[i] = to[i] = -1;
            if (first + i * THREADS >= t.packs) continue;
            const int index = first + i * THREADS + (int)threadIdx.x;
            const uint32_t position = tn_divide_rest((uint32_t)index, t.by_packs, &pack);
            const uint32_t row = tn_divide_rest(position, t.by_columns, &column);
            const int y = y0 + (int)row * t.step_y, x = (int)column * t.step_x - d.pad_left;
            const int channel = at.chunk * 4 * EACH + (int)pack * EACH;
            const bool is_inside = y >= 0 && y < d.in_height && x >= 0 && x < d.in_width;
            if (index < t.packs) to[i] = (int)(position * t.pitch + pack * 16);
            if (is_inside && index < t.packs && channel < d.channels)
                from[i] = (y * d.in_width + x) * d.x_pitch + channel;
            tn_cuda_keep(from[i]);
        }
        if (first == 0) {
            tn_cuda_wait_for_last();
            tn_cuda_start_next();
        }
        uint4 packs[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            packs[i] = from[i] >= 0 ? __ldcg((const uint4 *)(const void *)(image + from[i]))
                                    : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            if (to[i] >= 0) *(uint4 *)(patch + to[i]) = words_of<T>(packs[i]);
    }
}

/* A unit's products; `x`: what this lane has of 8 pixels. */
template <typename T>
__device__ __forceinline__ void multiply_tile(const uint4 (&a)[2][2], uint4 x, int n,
                                              typename sum_of<T>::type (&sums)[2][TILES][4]) {
#pragma unroll
    for (int m = 0; m < 2; m++)
        tn_matrix<T>::deep(sums[m][n], a[m][0].x, a[m][0].y, a[m][0].z, a[m][0].w, x.x, x.y);
#pragma unroll
    for (int m = 0; m < 2; m++)
        tn_matrix<T>::deep(sums[m][n], a[m][1].x, a[m][1].y, a[m][1].z, a[m][1].w, x.z, x.w);
}

__device__ __forceinline__ void load_weights(const uint4 *weights, int unit, uint4 (&a)[2][2]) {
#pragma unroll
    for (int i = 0; i < 4; i++)
        a[i / 2][i % 2] = weights[(unit * 4 + i) * 32 + (threadIdx.x & 31)];
}

/* Where the input of each output pixel of the block begins, at tap (0, 0): elements of the image,
 * or -1 outside of it, or else bytes of the patch. Pixels beyond the image are its last one. */
template <bool IS_POINT>
__device__ __forceinline__ void find_pixels(const tn_cuda_conv &d, const gemm_shape &t,
                                            const task &at, int *offsets) {
    uint32_t column;
    if ((int)threadIdx.x >= t.pixels) return;
    const int pixel = min(at.first + (int)threadIdx.x, at.end - 1);
    const int row = (int)tn_divide_rest((uint32_t)pixel, t.by_width, &column);
    const int y = row * d.stride_height - d.pad_top, x = (int)column * d.stride_width - d.pad_left;
    const bool is_inside = y >= 0 && y < d.in_height && x >= 0 && x < d.in_width;
    const int position = (row - at.row) * t.stride_y * t.columns + (int)column * t.stride_x;
    offsets[threadIdx.x] = !IS_POINT   ? position * t.pitch
                           : is_inside ? (y * d.in_width + x) * d.x_pitch
                                       : -1;
}

/* Those of this lane, which has a pixel of each eight. */
template <int ACROSS>
__device__ __forceinline__ void load_offsets(const int *offsets, int (&from)[TILES]) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int n = 0; n < TILES; n++)
        from[n] = offsets[warp % ACROSS * PIXELS + n * 8 + (lane >> 2)];
}

/* A warp's share of the products: some units of 56 pixels. */
template <typename T, int ACROSS>
__device__ __forceinline__ void multiply(const gemm_shape &t, const task &at, const int *offsets,
                                         const uint4 *weights, const char *patch,
                                         typename sum_of<T>::type (&sums)[2][TILES][4]) {
    int from[TILES];
    load_offsets<ACROSS>(offsets, from);
    patch += (threadIdx.x & 3) * 16;
#pragma unroll 1
    for (int unit = (int)(threadIdx.x >> 5) / ACROSS; unit < at.units; unit += WARPS / ACROSS) {
        uint32_t tap, column;
        const uint32_t chunk = tn_divide_rest((uint32_t)(at.unit + unit), t.by_taps, &tap);
        const uint32_t row = tn_divide_rest(tap, t.by_window, &column);
        const int offset = (int)(row * t.offset_y + column * t.offset_x + chunk * CHUNK);
        uint4 a[2][2];
        load_weights(weights, unit, a);
#pragma unroll
        for (int n = 0; n < TILES; n++)
            multiply_tile<T>(a, *(const uint4 *)(patch + (from[n] + offset)), n, sums);
    }
}

/* The same for a window of 1x1, where one lane alone needs what it loads: straight from the input,
 * the next unit's while this one's is multiplied. */
template <typename T, int ACROSS>
__device__ __forceinline__ void multiply_points(const tn_cuda_conv &d, const gemm_shape &t,
                                                const task &at, const int *offsets,
                                                const uint4 *weights, uint64_t *arrived,
                                                typename sum_of<T>::type (&sums)[2][TILES][4]) {
    typedef typename stored<T>::type type;
    constexpr int EACH = 16 / (int)sizeof(type), STEP = WARPS / ACROSS;
    const int channel = at.chunk * 4 * EACH + (int)(threadIdx.x & 3) * EACH;
    const type *image = image_of<type>(d, at);
    int from[TILES];
    load_offsets<ACROSS>(offsets, from);
    const auto load = [&](int unit, int n) {
        const int of_unit = channel + unit * 4 * EACH;
        return unit < at.units && of_unit < d.channels && from[n] >= 0
                   ? __ldcg((const uint4 *)(const void *)(image + from[n] + of_unit))
                   : make_uint4(0, 0, 0, 0);
    };
    int unit = (int)(threadIdx.x >> 5) / ACROSS;
    uint4 next[TILES];
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
#pragma unroll
    for (int n = 0; n < TILES; n++)
        next[n] = load(unit, n);
    tn_cuda_barrier_wait(arrived);
#pragma unroll 1
    for (; unit < at.units; unit += STEP) {
        uint4 a[2][2];
        load_weights(weights, unit, a);
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            const uint4 now = words_of<T>(next[n]);
            next[n] = load(unit + STEP, n);
            multiply_tile<T>(a, now, n, sums);
        }
    }
}

#endif

} // namespace

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few places (cuda_deep.cu): what a block does. It loads its patch of the input,
 * multiplies it, adds up its warps' sums, and finishes some places. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_DEEP_BLOCK_CUH
#define TN_LAYERS_CONV_CUDA_DEEP_BLOCK_CUH

#include "common/cuda/launch.cuh"
#include "conv/cuda_deep.cuh"
#include "conv/cuda_deep_cluster.cuh"

namespace {

template <typename T> struct stored;
template <> struct stored<__half> {
    typedef __half type;
    static __device__ __forceinline__ uint4 words(uint4 bits) { return bits; }
};
template <> struct stored<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    static __device__ __forceinline__ uint4 words(uint4 bits) { return bits; }
};
template <> struct stored<tn_tf32_number> {
    typedef float type;
    static __device__ __forceinline__ uint4 words(uint4 bits) {
        return make_uint4(
            tn_tf32_round(__uint_as_float(bits.x)), tn_tf32_round(__uint_as_float(bits.y)),
            tn_tf32_round(__uint_as_float(bits.z)), tn_tf32_round(__uint_as_float(bits.w)));
    }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* What a block does. */
struct task {
    int image, first, end; /* places: the first, and those of the image */
    int row;               /* of output, of the first place */
    int chunk, units;      /* the first of its chunks; all of its units */
};

/* All of the patch, several packs of a thread at once. Where they lie is found before the kernel in
 * front is done. */
template <typename T>
__device__ __forceinline__ void load_patch(const tn_cuda_direct &d, const deep_shape &t,
                                           const task &at, char *patch) {
    typedef typename stored<T>::type type;
    constexpr int EACH = 16 / (int)sizeof(type), AT_ONCE = 6;
    const int y0 = at.row * d.stride_height - d.pad_top;
    const type *image =
        (const type *)(const void *)d.x + (int64_t)at.image * d.in_height * d.in_width * d.channels;
    for (int first = 0; first < t.packs; first += THREADS * AT_ONCE) {
        int from[AT_ONCE], to[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            uint32_t pack, column;
            const int index = first + i * THREADS + (int)threadIdx.x;
            const uint32_t position = tn_divide_rest((uint32_t)index, t.by_packs, &pack);
            const uint32_t row = tn_divide_rest(position, t.by_columns, &column);
            const int y = y0 + (int)row * t.step_y, x = (int)column * t.step_x - d.pad_left;
            const int channel = at.chunk * 4 * EACH + (int)pack * EACH;
            const bool is_inside = y >= 0 && y < d.in_height && x >= 0 && x < d.in_width;
            to[i] = index < t.packs ? (int)(position * t.pitch + pack * 16) : -1;
            from[i] = is_inside && to[i] >= 0 && channel < d.channels
                          ? (y * d.in_width + x) * d.channels + channel
                          : -1;
        }
        if (first == 0) tn_cuda_wait_for_last();
        uint4 packs[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            packs[i] = from[i] >= 0 ? __ldcg((const uint4 *)(const void *)(image + from[i]))
                                    : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            if (to[i] >= 0) *(uint4 *)(patch + to[i]) = stored<T>::words(packs[i]);
    }
}

/* A warp's share of the products: some units of 56 places. */
template <typename T, int ACROSS>
__device__ __forceinline__ void multiply(const tn_cuda_direct &d, const deep_shape &t,
                                         const task &at, const uint4 *weights, const char *patch,
                                         float (&sums)[2][TILES][4]) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const char *from[TILES];
#pragma unroll
    for (int n = 0; n < TILES; n++) {
        uint32_t x;
        const int place = at.first + warp % ACROSS * PLACES + n * 8 + (lane >> 2);
        const uint32_t y = tn_divide_rest(min(place, at.end - 1), t.by_width, &x);
        const int position = ((int)y - at.row) * t.stride_y * t.columns + (int)x * t.stride_x;
        from[n] = patch + position * t.pitch + (lane & 3) * 16;
    }
#pragma unroll 1
    for (int unit = warp / ACROSS; unit < at.units; unit += WARPS / ACROSS) {
        uint32_t tap, column;
        const uint32_t chunk = tn_divide_rest(unit, t.by_taps, &tap);
        const uint32_t row = tn_divide_rest(tap, t.by_window, &column);
        const int offset = (int)(row * t.offset_y + column * t.offset_x + chunk * CHUNK);
        uint4 a[2][2];
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i / 2][i % 2] = weights[(unit * 4 + i) * 32 + lane];
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            const uint4 b = *(const uint4 *)(from[n] + offset);
#pragma unroll
            for (int m = 0; m < 2; m++)
                tn_matrix<T>::deep(sums[m][n], a[m][0].x, a[m][0].y, a[m][0].z, a[m][0].w, b.x,
                                   b.y);
#pragma unroll
            for (int m = 0; m < 2; m++)
                tn_matrix<T>::deep(sums[m][n], a[m][1].x, a[m][1].y, a[m][1].z, a[m][1].w, b.z,
                                   b.w);
        }
    }
}

/* By place and filter. */
__device__ __forceinline__ void store_sums(const float (&sums)[2][TILES][4], float *to) {
    const int lane = threadIdx.x & 31;
    to += (lane & 3) * 2 * PITCH + (lane >> 2);
#pragma unroll
    for (int n = 0; n < TILES; n++)
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                to[(n * 8 + i % 2) * PITCH + m * 16 + i / 2 * 8] = sums[m][n][i];
}

__device__ __forceinline__ void add(float4 &sum, float4 more) {
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
}

/* The sums of a block's warps, to the blocks that finish the places. */
template <int ACROSS>
__device__ __forceinline__ void share_out(const deep_shape &t, const float *sums, float *joined) {
    const int share = t.places / t.splits;
    for (int i = threadIdx.x; i < t.places * (FILTERS / 4); i += THREADS) {
        const int place = i / (FILTERS / 4), filter = i % (FILTERS / 4) * 4;
        const float *from = sums + place * PITCH + filter; /* as warps across lie side by side */
        float4 sum = *(const float4 *)from;
#pragma unroll
        for (int k = 1; k < WARPS / ACROSS; k++)
            add(sum, *(const float4 *)(from + k * ACROSS * PLACES * PITCH));
        const int block = place / share;
        push(joined + (((int)blockIdx.x - block) * share + place) * FILTERS + filter,
             (uint32_t)block, sum);
    }
}

template <typename type>
__device__ __forceinline__ void load_four(const type *from, float (&to)[4]) {
    union {
        uint2 bits[sizeof(type) / 2];
        type items[4];
    } four = {};
#pragma unroll
    for (int i = 0; i < (int)sizeof(type) / 2; i++)
        four.bits[i] = __ldcg((const uint2 *)(const void *)from + i);
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = tn_number_load(four.items[i], 0);
}
__device__ __forceinline__ void store_four(float *to, const float (&v)[4]) {
    *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]);
}
template <typename type> __device__ __forceinline__ void store_four(type *to, const float (&v)[4]) {
    union {
        uint2 bits;
        type items[4];
    } four = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
        tn_number_store(&four.items[i], v[i], 0);
    *(uint2 *)(void *)to = four.bits;
}

/* The places of this block: four filters of one at a time. `is_joined`: the cluster's sums are
 * there already. What is not theirs is loaded before they are. */
template <typename type>
__device__ __forceinline__ void finish(const tn_cuda_direct &d, const deep_shape &t, const task &at,
                                       const float *joined) {
    const int share = t.places / t.splits, count = share * (FILTERS / 4);
    bool is_joined = false;
    for (int first = 0; first < count; first += THREADS) {
        const int i = first + (int)threadIdx.x, place = i / (FILTERS / 4);
        const int column = i % (FILTERS / 4) * 4, filter = (int)blockIdx.y * FILTERS + column;
        const int of_image = at.first + (int)blockIdx.x * share + place;
        const bool is_ours = i < count && of_image < at.end && filter < d.filters;
        const int64_t to = ((int64_t)at.image * at.end + of_image) * d.filters + filter;
        float4 sum = make_float4(0, 0, 0, 0);
        float residual[4] = {};
        if (is_ours) sum = __ldg((const float4 *)(d.bias + filter));
        if (is_ours && d.residual) load_four((const type *)(const void *)d.residual + to, residual);
        if (!is_joined) cluster_wait();
        is_joined = true;
        if (!is_ours) continue;
        const float *from = joined + place * FILTERS + column;
        for (int k = 0; k < t.splits; k++)
            add(sum, *(const float4 *)(from + k * share * FILTERS));
        const float v[4] = {tn_cuda_activate(d.activation, sum.x + residual[0]),
                            tn_cuda_activate(d.activation, sum.y + residual[1]),
                            tn_cuda_activate(d.activation, sum.z + residual[2]),
                            tn_cuda_activate(d.activation, sum.w + residual[3])};
        store_four((type *)(void *)d.y + to, v);
    }
}

#endif

} // namespace

#endif

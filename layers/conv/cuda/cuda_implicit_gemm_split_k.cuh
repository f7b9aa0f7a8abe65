/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The implicit GEMM of convolutions (cuda_implicit_gemm.cu): the reduction of sums whose depth is
 * split. Those of a block's warps are added up and sent to the blocks of its cluster, and those
 * that come from there are finished: of some pixels each block, or, where the mean of the image is
 * stored, of some filters, so that a block has all that it adds up. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_IMPLICIT_GEMM_SPLIT_K_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_IMPLICIT_GEMM_SPLIT_K_CUH

#include "conv/cuda/cuda_implicit_gemm.cuh"

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* By pixel and filter. */
template <typename sum_type>
__device__ __forceinline__ void store_sums(const sum_type (&sums)[2][TILES][4], sum_type *to) {
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

/* Those of four neighbouring filters. */
template <typename sum_type> struct four { typedef float4 sums; };
template <> struct four<int> { typedef int4 sums; };

template <typename sums> __device__ __forceinline__ void add(sums &sum, sums more) {
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
}

/* The sums of a block's warps for the `i`th four filters of a pixel. */
template <int ACROSS, typename sum_type>
__device__ __forceinline__ typename four<sum_type>::sums add_own(const sum_type *own, int i) {
    typedef typename four<sum_type>::sums sums;
    /* Warps that lie across are beside each other. */
    const sum_type *from = own + i / FOURS * PITCH + i % FOURS * 4;
    sums sum = *(const sums *)from;
#pragma unroll
    for (int k = 1; k < WARPS / ACROSS; k++)
        add(sum, *(const sums *)(from + k * ACROSS * PIXELS * PITCH));
    return sum;
}

/* To the blocks that finish the pixels or, of means, the filters. */
template <int ACROSS, bool IS_MEAN, typename sum_type>
__device__ __forceinline__ void share_out(const gemm_shape &t, const task &at, const sum_type *sums,
                                          const sum_type *joined, const uint64_t *are_joined) {
#pragma unroll
    for (int n = 0; n < (ACROSS * PIXELS * FOURS + THREADS - 1) / THREADS; n++) {
        const int i = n * THREADS + (int)threadIdx.x, pixel = i / FOURS;
        if (i >= ACROSS * PIXELS * FOURS || (IS_MEAN && pixel >= at.own)) break;
        uint32_t block;
        int to;
        if constexpr (IS_MEAN) {
            block = (uint32_t)(i % FOURS) >> t.four_bits;
            to = (((int)blockIdx.x * at.own + pixel) << t.four_bits) +
                 (i % FOURS & ((1 << t.four_bits) - 1));
        } else {
            block = tn_divide((uint32_t)pixel, t.by_share);
            to = ((int)blockIdx.x * t.share + pixel - (int)block * t.share) * FOURS + i % FOURS;
        }
        tn_cuda_cluster_push(
            tn_cuda_cluster_address(tn_cuda_shared_address(joined) + (uint32_t)to * 16, block),
            add_own<ACROSS>(sums, i),
            tn_cuda_cluster_address(tn_cuda_shared_address(are_joined), block));
    }
}

/* Four neighbouring numbers as they are stored: of bytes in steps of `scale`, and of 1 / `factor`.
 */
template <typename Y> using four_bits = typename tn_pack_bits<4 * (int)sizeof(Y)>::type;
template <typename Y>
__device__ __forceinline__ float4 four_floats(four_bits<Y> bits, float scale) {
    union {
        four_bits<Y> bits;
        Y items[4];
    } all;
    all.bits = bits;
    return make_float4(tn_number_load(all.items[0], scale), tn_number_load(all.items[1], scale),
                       tn_number_load(all.items[2], scale), tn_number_load(all.items[3], scale));
}
template <typename Y> __device__ __forceinline__ void store_four(Y *to, float4 v, float factor) {
    union {
        four_bits<Y> bits;
        Y items[4];
    } all = {};
    tn_number_store(&all.items[0], v.x, factor), tn_number_store(&all.items[1], v.y, factor);
    tn_number_store(&all.items[2], v.z, factor), tn_number_store(&all.items[3], v.w, factor);
    *(four_bits<Y> *)(void *)to = all.bits;
}

/* Out of line, and all four at once: a kernel's instructions take their time to come, too. */
__device__ __noinline__ float4 activate(uint32_t kind, float alpha, float beta, float4 v) {
    const tn_cuda_activation how = {kind, alpha, beta};
    return make_float4(tn_cuda_activate(how, v.x), tn_cuda_activate(how, v.y),
                       tn_cuda_activate(how, v.z), tn_cuda_activate(how, v.w));
}

__device__ __forceinline__ float4 swish(float alpha, float4 v) {
    return make_float4(tn_cuda_swish_short(alpha, v.x), tn_cuda_swish_short(alpha, v.y),
                       tn_cuda_swish_short(alpha, v.z), tn_cuda_swish_short(alpha, v.w));
}

/* The first of the four filters that this thread finishes, of any pixel. */
template <bool IS_MEAN> __device__ __forceinline__ int filter_of(const gemm_shape &t) {
    const int mask = IS_MEAN ? (1 << t.four_bits) - 1 : FOURS - 1;
    const int first = IS_MEAN ? (int)blockIdx.x << t.four_bits : 0;
    return (int)blockIdx.y * FILTERS + (first + ((int)threadIdx.x & mask)) * 4;
}

/* Where this thread's `n`th four filters of a pixel are in an image whose pixels lie `pitch`
 * elements apart; -1: there are not so many. */
template <bool IS_MEAN>
__device__ __forceinline__ int output_of(const tn_cuda_conv &d, const gemm_shape &t, const task &at,
                                         int n, int pitch) {
    const int i = n * THREADS + (int)threadIdx.x, filter = filter_of<IS_MEAN>(t);
    const int pixel = IS_MEAN ? i >> t.four_bits : i / FOURS;
    const int of_image = IS_MEAN ? pixel : at.first + (int)blockIdx.x * t.share + pixel;
    return pixel < at.own && of_image < at.end && filter < d.filters ? of_image * pitch + filter
                                                                     : -1;
}

/* What is added to the sums of the pixels of this block. Nothing here waits for what is loaded. */
template <typename Y, int ITEMS> struct rest {
    float4 bias, steps; /* the same for all of a thread's; steps: of sums of bytes */
    four_bits<Y> residual[ITEMS];
};

template <typename T, bool IS_MEAN, typename Y, int ITEMS>
__device__ __forceinline__ void load_rest(const tn_cuda_conv &d, const gemm_shape &t,
                                          const task &at, rest<Y, ITEMS> &more) {
    const int filter = filter_of<IS_MEAN>(t);
    const Y *residual =
        (const Y *)(const void *)d.residual + (int64_t)at.image * (at.end * d.filters);
    more.bias = more.steps = make_float4(0, 0, 0, 0);
    if (filter < d.filters) {
        more.bias = __ldg((const float4 *)(const void *)(d.bias + filter));
        if (sizeof(T) == 1)
            more.steps = __ldg((const float4 *)(const void *)(d.bias + d.filters + filter));
    }
    if (!d.residual) return;
#pragma unroll
    for (int n = 0; n < ITEMS; n++) {
        const int from = output_of<IS_MEAN>(d, t, at, n, d.filters);
        if (from >= 0)
            more.residual[n] = __ldcg((const four_bits<Y> *)(const void *)(residual + from));
    }
}

/* Adds a pixel's `i`th four sums, which are the block's own warps' or came from the cluster, those
 * of a block `step` numbers behind those of the last one. */
template <int ACROSS, typename sum_type>
__device__ __forceinline__ void add_all(const gemm_shape &t, const sum_type *own,
                                        const sum_type *joined, int i, int step,
                                        typename four<sum_type>::sums &sum) {
    typedef typename four<sum_type>::sums sums;
    if (t.splits == 1)
        add(sum, add_own<ACROSS>(own, i));
    else
#pragma unroll 4
        for (int k = 0; k < t.splits; k++)
            add(sum, *(const sums *)(joined + k * step + i * 4));
}

/* The same with the bias, from which floats are added up. */
template <int ACROSS>
__device__ __forceinline__ float4 add_to(float4 bias, float4, const gemm_shape &t, const float *own,
                                         const float *joined, int i, int step) {
    add_all<ACROSS>(t, own, joined, i, step, bias);
    return bias;
}
template <int ACROSS>
__device__ __forceinline__ float4 add_to(float4 bias, float4 steps, const gemm_shape &t,
                                         const int *own, const int *joined, int i, int step) {
    int4 sum = make_int4(0, 0, 0, 0);
    add_all<ACROSS>(t, own, joined, i, step, sum);
    return make_float4((float)sum.x * steps.x + bias.x, (float)sum.y * steps.y + bias.y,
                       (float)sum.z * steps.z + bias.z, (float)sum.w * steps.w + bias.w);
}

/* Four filters of a pixel of this block, the `n`th of this thread's. */
template <int ACROSS, typename sum_type, typename Y, int ITEMS>
__device__ __forceinline__ float4 finish_four(const tn_cuda_conv &d, const gemm_shape &t,
                                              const sum_type *own, const sum_type *joined, int n,
                                              int step, const rest<Y, ITEMS> &more) {
    float4 sum =
        add_to<ACROSS>(more.bias, more.steps, t, own, joined, n * THREADS + (int)threadIdx.x, step);
    if (d.residual) add(sum, four_floats<Y>(more.residual[n], d.residual_scale));
    if (d.activation.kind == TN_ACTIVATION_RELU)
        sum = make_float4(sum.x < 0 ? 0 : sum.x, sum.y < 0 ? 0 : sum.y, sum.z < 0 ? 0 : sum.z,
                          sum.w < 0 ? 0 : sum.w);
    else if (sizeof(Y) < 4 && d.activation.kind == TN_ACTIVATION_SWISH)
        sum = swish(d.activation.alpha, sum);
    else if (d.activation.kind != 0)
        sum = activate(d.activation.kind, d.activation.alpha, d.activation.beta, sum);
    return sum;
}

/* The pixels of this block. */
template <int ACROSS, typename sum_type, typename Y, int ITEMS>
__device__ __forceinline__ void finish(const tn_cuda_conv &d, const gemm_shape &t, const task &at,
                                       const sum_type *own, const sum_type *joined,
                                       const rest<Y, ITEMS> &more) {
    Y *y = (Y *)(void *)d.y + (int64_t)at.image * at.end * d.y_pitch;
#pragma unroll
    for (int n = 0; n < ITEMS; n++) {
        const int to = output_of<false>(d, t, at, n, d.y_pitch);
        if (to < 0) break;
        store_four(y + to, finish_four<ACROSS>(d, t, own, joined, n, t.share * FILTERS, more),
                   d.y_factor);
    }
}

/* The mean of all pixels for this block's filters: of a thread's, of a warp's, whose lanes have the
 * same filters again after 2^four_bits of them, and of the block's. `parts`: OF_MEANS floats that
 * nothing else uses. */
template <int ACROSS, typename Y, int ITEMS>
__device__ __forceinline__ void finish_means(const tn_cuda_conv &d, const gemm_shape &t,
                                             const task &at, const float *own, const float *joined,
                                             float *parts, const rest<Y, ITEMS> &more) {
    const int fours = 1 << t.four_bits, lane = threadIdx.x & 31, filter = filter_of<true>(t);
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int n = 0; n < ITEMS; n++) {
        if (output_of<true>(d, t, at, n, 0) < 0) break;
        add(sum, finish_four<ACROSS>(d, t, own, joined, n, (at.own << t.four_bits) * 4, more));
    }
    __syncwarp();
    for (int step = 16; step >= fours; step /= 2)
        add(sum, make_float4(__shfl_xor_sync(0xffffffffu, sum.x, step),
                             __shfl_xor_sync(0xffffffffu, sum.y, step),
                             __shfl_xor_sync(0xffffffffu, sum.z, step),
                             __shfl_xor_sync(0xffffffffu, sum.w, step)));
    float4 *of_warps = (float4 *)parts;
    if (lane < fours) of_warps[(threadIdx.x >> 5) * FOURS + lane] = sum;
    __syncthreads();
    if ((int)threadIdx.x >= fours || filter >= d.filters) return;
    sum = of_warps[threadIdx.x];
#pragma unroll
    for (int k = 1; k < WARPS; k++)
        add(sum, of_warps[k * FOURS + threadIdx.x]);
    const float pixels = (float)at.own;
    sum = make_float4(sum.x / pixels, sum.y / pixels, sum.z / pixels, sum.w / pixels);
    const int64_t to = (int64_t)at.image * d.y_pitch + filter;
    if (d.y_type == TN_F32)
        store_four((float *)(void *)d.y + to, sum, 1);
    else
        store_four((Y *)(void *)d.y + to, sum, 1);
}

#endif

} // namespace

#endif

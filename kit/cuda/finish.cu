/* SPDX-License-Identifier: Apache-2.0 */
/* Bias, residual, activation and rounding after a library's sums; see finish.h. */
#include "kit/cuda/finish.h"
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

enum { THREADS = 256 };

/* Elements N * at and after it. */
template <typename T, int N>
__device__ __forceinline__ void load(const void *from, uint32_t at, float (&v)[N]) {
    if constexpr (N == 1)
        v[0] = tn_number_load(((const T *)from)[at], 1.0f);
    else {
        const tn_pack<T, N> pack = tn_pack_load<T, N>((const T *)from + (size_t)at * N);
#pragma unroll
        for (int i = 0; i < N; i += 4)
            tn_pack_read(pack, i, 1.0f, v + i);
    }
}
template <typename T, int N>
__device__ __forceinline__ void store(void *to, uint32_t at, const float (&v)[N], float inverse) {
    if constexpr (N == 1) {
        tn_number_store((T *)to + at, v[0], inverse);
    } else {
        tn_pack<T, N> pack;
#pragma unroll
        for (int i = 0; i < N; i += 4)
            tn_pack_write(pack, i, v + i, inverse);
        tn_pack_store((T *)to + (size_t)at * N, pack);
    }
}

/* What belongs to the channels of N neighbours, the first of which is `channel`: N channels, or
 * one. */
template <int N>
__device__ __forceinline__ void load_channels(const float *from, uint32_t channel, bool is_one,
                                              float (&v)[N]) {
    if (N == 1 || is_one) {
        const float one = __ldg(from + channel);
#pragma unroll
        for (int i = 0; i < N; i++)
            v[i] = one;
    } else {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            const float4 four = __ldg((const float4 *)(const void *)(from + channel + i));
            v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
        }
    }
}

/* The first channel of N neighbours. Packs of several are fewer than the dividers' limit. */
template <int N>
__device__ __forceinline__ uint32_t channel_of(const tn_cuda_finish &f, uint32_t at,
                                               const tn_divider &by_inner,
                                               const tn_divider &by_channels) {
    if (N == 1) return at / (uint32_t)f.inner % (uint32_t)f.channels;
    uint32_t c;
    (void)tn_divide_rest(tn_divide(at, by_inner), by_channels, &c);
    return f.inner == 1 ? c * N : c;
}

/* N neighbours a thread: of one channel when `inner` is not 1, of N channels otherwise. The
 * dividers count packs. */
template <typename S, typename T, int N>
__global__ void __launch_bounds__(THREADS)
    finish_kernel(const __grid_constant__ tn_cuda_finish f, uint32_t packs, tn_divider by_inner,
                  tn_divider by_channels) {
    const bool is_one = f.inner != 1;
    const float inverse = 1.0f / f.y_scale;
    tn_cuda_start_next();
    uint32_t at = blockIdx.x * THREADS + threadIdx.x;
    float scale[N], bias[N], x[N], residual[N];
    tn_cuda_wait_for_last();
    for (; at < packs; at += gridDim.x * THREADS) {
        load<S>(f.sums, at, x);
        if (f.residual) load<T>(f.residual, at, residual);
        const uint32_t c = f.scale || f.bias ? channel_of<N>(f, at, by_inner, by_channels) : 0;
        if (f.scale) {
            load_channels(f.scale, c, is_one, scale);
#pragma unroll
            for (int i = 0; i < N; i++)
                x[i] *= scale[i];
        }
        if (f.bias) {
            load_channels(f.bias, c, is_one, bias);
#pragma unroll
            for (int i = 0; i < N; i++)
                x[i] += bias[i];
        }
        if (f.residual)
#pragma unroll
            for (int i = 0; i < N; i++)
                x[i] = fmaf(residual[i], f.residual_scale, x[i]);
        tn_cuda_activate_all<T>(f.activation, x);
        store<T>(f.y, at, x, inverse);
    }
}

bool is_aligned(const float *vector) {
    return (uintptr_t)vector % 16 == 0;
}

template <typename S, typename T>
cudaError_t launch(const tn_cuda_finish *finish, cudaStream_t stream) {
    const int64_t count = finish->outer * finish->channels * finish->inner;
    /* 16 bytes a thread, where these fill the GPU */
    constexpr int MOST = sizeof(S) == 2 && sizeof(T) == 2 ? 8 : 4, BLOCKS = 1 << 14;
    const bool is_one = finish->inner != 1;
    const int64_t row = is_one ? finish->inner : finish->channels;
    const bool is_wide = is_one || (is_aligned(finish->scale) && is_aligned(finish->bias));
    const int each = !is_wide                              ? 1
                     : row % MOST == 0 && count >= 1 << 20 ? MOST
                     : row % 4 == 0                        ? 4
                                                           : 1;
    const int64_t packs = count / each, blocks = (packs + THREADS - 1) / THREADS;
    if (count == 0) return cudaSuccess;
    if (count > UINT32_MAX - (int64_t)MOST * THREADS * BLOCKS) return cudaErrorInvalidValue;
    const unsigned int grid = (unsigned int)(blocks < BLOCKS ? blocks : BLOCKS);
    return tn_cuda_launch_early(
        each == MOST ? finish_kernel<S, T, MOST>
        : each == 4  ? finish_kernel<S, T, 4>
                     : finish_kernel<S, T, 1>,
        grid, THREADS, 0, stream, *finish, (uint32_t)packs,
        tn_divider_make((uint32_t)(is_one ? finish->inner / each : 1)),
        tn_divider_make((uint32_t)(is_one ? finish->channels : finish->channels / each)));
}

} // namespace

cudaError_t tn_cuda_finish_launch(const tn_cuda_finish *finish, cudaStream_t stream) {
    if (finish->sum_type == TN_F32 && finish->y_type == TN_F32)
        return launch<float, float>(finish, stream);
    if (finish->sum_type == TN_F32 && finish->y_type == TN_I8)
        return launch<float, int8_t>(finish, stream);
    if (finish->sum_type == TN_F16 && finish->y_type == TN_F16)
        return launch<__half, __half>(finish, stream);
    if (finish->sum_type == TN_BF16 && finish->y_type == TN_BF16)
        return launch<__nv_bfloat16, __nv_bfloat16>(finish, stream);
    return cudaErrorInvalidValue;
}

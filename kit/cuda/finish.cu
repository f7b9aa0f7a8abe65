/* SPDX-License-Identifier: Apache-2.0 */
/* Bias, residual, activation and rounding after a library's sums; see finish.h. */
#include "kit/cuda/finish.h"
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

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

/* N neighbours a thread: of one channel when `inner` is not 1, of N channels otherwise. */
template <typename S, typename T, int N>
__global__ void __launch_bounds__(256) finish_kernel(const tn_cuda_finish f, uint32_t packs) {
    const uint32_t channels = (uint32_t)f.channels, inner = (uint32_t)f.inner;
    const float inverse = 1.0f / f.y_scale;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < packs;
         at += gridDim.x * blockDim.x) {
        const uint32_t first = at * N;
        const uint32_t step = inner == 1 ? 1 : 0;
        uint32_t c = 0;
        if (f.scale || f.bias) c = inner == 1 ? first % channels : first / inner % channels;
        float x[N], residual[N];
        load<S>(f.sums, at, x);
        if (f.residual) load<T>(f.residual, at, residual);
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            if (f.scale) x[i] *= __ldg(f.scale + c + i * step);
            if (f.bias) x[i] += __ldg(f.bias + c + i * step);
            if (f.residual) x[i] += residual[i] * f.residual_scale;
        }
        tn_cuda_activate_all<T>(f.activation, x);
        store<T>(f.y, at, x, inverse);
    }
}

template <typename S, typename T>
cudaError_t launch(const tn_cuda_finish *finish, cudaStream_t stream) {
    const int64_t count = finish->outer * finish->channels * finish->inner;
    /* 16 bytes a thread, where these fill the GPU */
    enum { MOST = sizeof(S) == 2 && sizeof(T) == 2 ? 8 : 4 };
    const int64_t row = finish->inner == 1 ? finish->channels : finish->inner, most = 132 * 16;
    const int each = row % MOST == 0 && count >= 1 << 20 ? MOST : row % 4 == 0 ? 4 : 1;
    const int64_t packs = count / each, blocks = (packs + 255) / 256;
    if (count == 0) return cudaSuccess;
    if (count > UINT32_MAX - MOST * 256 * most) return cudaErrorInvalidValue;
    const unsigned int grid = (unsigned int)(blocks < most ? blocks : most);
    return tn_cuda_launch_early(each == MOST ? finish_kernel<S, T, MOST>
                                : each == 4  ? finish_kernel<S, T, 4>
                                             : finish_kernel<S, T, 1>,
                                grid, 256, 0, stream, *finish, (uint32_t)packs);
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

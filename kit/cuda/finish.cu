/* SPDX-License-Identifier: Apache-2.0 */
/* Bias, residual, activation and rounding after a library's sums; see finish.h. */
#include "kit/cuda/finish.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

__device__ __forceinline__ float to_float(float x) {
    return x;
}
__device__ __forceinline__ float to_float(__half x) {
    return __half2float(x);
}
__device__ __forceinline__ float to_float(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
__device__ __forceinline__ float to_float(int8_t x) {
    return (float)x;
}
__device__ __forceinline__ void store(float *to, float x, float) {
    *to = x;
}
__device__ __forceinline__ void store(__half *to, float x, float) {
    *to = __float2half_rn(x);
}
__device__ __forceinline__ void store(__nv_bfloat16 *to, float x, float) {
    *to = __float2bfloat16_rn(x);
}
__device__ __forceinline__ void store(int8_t *to, float x, float scale) {
    const float steps = rintf(x / scale);
    *to = !(steps > -128.0f) ? (int8_t)-128 : (int8_t)fminf(steps, 127.0f);
}

template <typename T, int N> struct alignas(sizeof(T) * N) pack { T items[N]; };

/* N neighbours a thread: of one channel when `inner` is not 1, of N channels otherwise. */
template <typename S, typename T, int N>
__global__ void __launch_bounds__(256) finish_kernel(const tn_cuda_finish f, uint32_t packs) {
    const uint32_t channels = (uint32_t)f.channels, inner = (uint32_t)f.inner;
    for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < packs;
         at += gridDim.x * blockDim.x) {
        const uint32_t first = at * N;
        const uint32_t c = inner == 1 ? first % channels : first / inner % channels;
        const uint32_t step = inner == 1 ? 1 : 0;
        const pack<S, N> sums = ((const pack<S, N> *)f.sums)[at];
        pack<T, N> residual, y;
        if (f.residual) residual = ((const pack<T, N> *)f.residual)[at];
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            float x = to_float(sums.items[i]);
            if (f.scale) x *= __ldg(f.scale + c + i * step);
            if (f.bias) x += __ldg(f.bias + c + i * step);
            if (f.residual) x += to_float(residual.items[i]) * f.residual_scale;
            store(&y.items[i], tn_cuda_activate(f.activation, x), f.y_scale);
        }
        ((pack<T, N> *)f.y)[at] = y;
    }
}

template <typename S, typename T>
cudaError_t launch(const tn_cuda_finish *finish, cudaStream_t stream) {
    const int64_t count = finish->outer * finish->channels * finish->inner;
    const bool is_wide = (finish->inner == 1 ? finish->channels : finish->inner) % 4 == 0;
    const int64_t packs = is_wide ? count / 4 : count, most = 132 * 16;
    if (count == 0) return cudaSuccess;
    if (count > UINT32_MAX - 4 * 256 * most) return cudaErrorInvalidValue;
    const int64_t blocks = (packs + 255) / 256;
    const unsigned int grid = (unsigned int)(blocks < most ? blocks : most);
    if (is_wide)
        finish_kernel<S, T, 4><<<grid, 256, 0, stream>>>(*finish, (uint32_t)packs);
    else
        finish_kernel<S, T, 1><<<grid, 256, 0, stream>>>(*finish, (uint32_t)packs);
    return cudaGetLastError();
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

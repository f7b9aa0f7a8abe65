/* SPDX-License-Identifier: Apache-2.0 */
/* What the 32 threads of a warp make of a number of each, in all of them. All must take part. */
#ifndef TENON_KIT_CUDA_WARP_CUH
#define TENON_KIT_CUDA_WARP_CUH

static __device__ __forceinline__ float tn_warp_largest(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}
static __device__ __forceinline__ float tn_warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

#endif

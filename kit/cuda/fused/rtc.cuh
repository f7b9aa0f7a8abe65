/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in for <stdint.h> and CUDA's headers of 16-bit floats where sources are compiled at
 * run time: a machine that runs networks may have no headers. Before all others in a source
 * (fused_source.c).
 */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
struct __half {
    unsigned short bits;
};
struct __nv_bfloat16 {
    unsigned short bits;
};
static __device__ __forceinline__ float __half2float(__half x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
static __device__ __forceinline__ __half __float2half_rn(float x) {
    __half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
static __device__ __forceinline__ float __bfloat162float(__nv_bfloat16 x) {
    return __uint_as_float((uint32_t)x.bits << 16);
}
static __device__ __forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) {
    __nv_bfloat16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

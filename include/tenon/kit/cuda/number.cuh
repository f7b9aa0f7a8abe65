/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers on the GPU: every storage type as a 32-bit float and back, 16 bytes at a time, and
 * division by numbers that are known when a kernel is launched. Nothing of the host's. NVRTC
 * compiles it as well, with what stands in for these headers before it (kit/cuda/fused/rtc.cuh).
 */
#ifndef TENON_KIT_CUDA_NUMBER_CUH
#define TENON_KIT_CUDA_NUMBER_CUH

#ifndef __CUDACC_RTC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <tenon/kit/cuda/divider.h>
#endif

/* Half-width types as they are stored. */
typedef __half tn_f16_number;
typedef __nv_bfloat16 tn_bf16_number;
typedef struct tn_bool_number {
    uint8_t bits;
} tn_bool_number;

/* One element as a float: `scale` is that of an 8-bit number, and not used by the others. */
static __device__ __forceinline__ float tn_number_load(float x, float) {
    return x;
}
static __device__ __forceinline__ float tn_number_load(__half x, float) {
    return __half2float(x);
}
static __device__ __forceinline__ float tn_number_load(__nv_bfloat16 x, float) {
    return __bfloat162float(x);
}
static __device__ __forceinline__ float tn_number_load(int8_t x, float scale) {
    return (float)x * scale;
}
static __device__ __forceinline__ float tn_number_load(tn_bool_number x, float) {
    return x.bits ? 1.0f : 0.0f;
}

/* Rounds once, to nearest even. 8-bit numbers: x * inverse, `inverse` being one over the scale;
 * saturated, and NaN is -128. */
static __device__ __forceinline__ void tn_number_store(float *to, float x, float) {
    *to = x;
}
static __device__ __forceinline__ void tn_number_store(__half *to, float x, float) {
    *to = __float2half_rn(x);
}
static __device__ __forceinline__ void tn_number_store(__nv_bfloat16 *to, float x, float) {
    *to = __float2bfloat16_rn(x);
}
/* The number in the lowest byte: what is added leaves no bits for fractions, so that the sum is
 * rounded to a whole number. */
static __device__ __forceinline__ uint32_t tn_number_round_i8(float x, float inverse) {
    const float steps = fminf(fmaxf(x * inverse, -128.0f), 127.0f);
    return __float_as_uint(steps + 12582912.0f);
}
static __device__ __forceinline__ void tn_number_store(int8_t *to, float x, float inverse) {
    *to = (int8_t)(tn_number_round_i8(x, inverse) & 0xff);
}
static __device__ __forceinline__ void tn_number_store(tn_bool_number *to, float x, float) {
    to->bits = x != 0.0f;
}

/* The larger and the smaller of two numbers; NaN where one is. */
static __device__ __forceinline__ float tn_number_most(float a, float b) {
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
    return most;
}
static __device__ __forceinline__ float tn_number_least(float a, float b) {
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
}

/* BYTES of memory, at an address that they divide. */
template <int BYTES> struct tn_pack_bits;
template <> struct tn_pack_bits<4> { typedef uint32_t type; };
template <> struct tn_pack_bits<8> { typedef uint2 type; };
template <> struct tn_pack_bits<16> { typedef uint4 type; };

/* N elements, 16 bytes of them unless told otherwise. */
template <typename T, int N = 16 / (int)sizeof(T)> struct tn_pack {
    static constexpr int count = N;
    union {
        typename tn_pack_bits<N *(int)sizeof(T)>::type bits;
        uint32_t words[N * sizeof(T) / 4];
        T items[N];
    };
    __device__ __forceinline__ tn_pack() {}
};

template <typename T, int N = 16 / (int)sizeof(T)>
static __device__ __forceinline__ tn_pack<T, N> tn_pack_load(const T *from) {
    tn_pack<T, N> pack;
    pack.bits = *(const typename tn_pack_bits<N *(int)sizeof(T)>::type *)from;
    return pack;
}
template <typename T, int N>
static __device__ __forceinline__ void tn_pack_store(T *to, const tn_pack<T, N> &pack) {
    *(typename tn_pack_bits<N *(int)sizeof(T)>::type *)to = pack.bits;
}

/* Elements i..i+3 of a pack as floats, and back; i is a multiple of four. */
template <typename T, int N>
static __device__ __forceinline__ void tn_pack_read(const tn_pack<T, N> &pack, int i, float scale,
                                                    float *v) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = tn_number_load(pack.items[i + k], scale);
}
template <typename T, int N>
static __device__ __forceinline__ void tn_pack_write(tn_pack<T, N> &pack, int i, const float *v,
                                                     float inverse) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        tn_number_store(&pack.items[i + k], v[k], inverse);
}
/* Bytes become the lowest bits of 2^23, and come from those of 1.5 * 2^23: no conversions, of which
 * a multiprocessor does few at once. */
template <int N>
static __device__ __forceinline__ void tn_pack_read(const tn_pack<int8_t, N> &pack, int i,
                                                    float scale, float *v) {
    const uint32_t word = pack.words[i / 4] ^ 0x80808080u;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
        v[k] = (__uint_as_float(__byte_perm(word, 0x4B000000u, 0x7650u + k)) - 8388736.0f) * scale;
}
template <int N>
static __device__ __forceinline__ void tn_pack_write(tn_pack<int8_t, N> &pack, int i,
                                                     const float *v, float inverse) {
    const uint32_t low =
        __byte_perm(tn_number_round_i8(v[0], inverse), tn_number_round_i8(v[1], inverse), 0x0040u);
    const uint32_t high =
        __byte_perm(tn_number_round_i8(v[2], inverse), tn_number_round_i8(v[3], inverse), 0x0040u);
    pack.words[i / 4] = __byte_perm(low, high, 0x5410u);
}

/* number / d (tenon/kit/cuda/divider.h). */
static __device__ __forceinline__ uint32_t tn_divide(uint32_t number, const tn_divider &d) {
    return (__umulhi(number, d.multiplier) + number) >> d.shift;
}
/* number / d, and the rest through `rest`. */
static __device__ __forceinline__ uint32_t tn_divide_rest(uint32_t number, const tn_divider &d,
                                                          uint32_t *rest) {
    const uint32_t quotient = tn_divide(number, d);
    *rest = number - quotient * d.divisor;
    return quotient;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers on the GPU: every storage type as a 32-bit float and back, 16 bytes at a time, and
 * division by numbers that are known when a kernel is launched. Nothing of the host's.
 */
#ifndef TENON_KIT_CUDA_NUMBER_CUH
#define TENON_KIT_CUDA_NUMBER_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* Half-width types as they are stored. */
typedef __half tn_f16_number;
typedef __nv_bfloat16 tn_bf16_number;

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

/* 16 bytes of elements. */
template <typename T> struct tn_pack {
    static constexpr int count = 16 / (int)sizeof(T);
    union {
        uint4 bits;
        uint32_t words[4];
        T items[count];
    };
    __device__ __forceinline__ tn_pack() {}
};

template <typename T> static __device__ __forceinline__ tn_pack<T> tn_pack_load(const T *from) {
    tn_pack<T> pack;
    pack.bits = *(const uint4 *)from;
    return pack;
}
template <typename T>
static __device__ __forceinline__ void tn_pack_store(T *to, const tn_pack<T> &pack) {
    *(uint4 *)to = pack.bits;
}

/* Elements i..i+3 of a pack as floats, and back; i is a multiple of four. */
template <typename T>
static __device__ __forceinline__ void tn_pack_read(const tn_pack<T> &pack, int i, float scale,
                                                    float *v) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = tn_number_load(pack.items[i + k], scale);
}
template <typename T>
static __device__ __forceinline__ void tn_pack_write(tn_pack<T> &pack, int i, const float *v,
                                                     float inverse) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        tn_number_store(&pack.items[i + k], v[k], inverse);
}
/* Bytes become the lowest bits of 2^23, and come from those of 1.5 * 2^23: no conversions, of which
 * a multiprocessor does few at once. */
static __device__ __forceinline__ void tn_pack_read(const tn_pack<int8_t> &pack, int i, float scale,
                                                    float *v) {
    const uint32_t word = pack.words[i / 4] ^ 0x80808080u;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
        v[k] = (__uint_as_float(__byte_perm(word, 0x4B000000u, 0x7650u + k)) - 8388736.0f) * scale;
}
static __device__ __forceinline__ void tn_pack_write(tn_pack<int8_t> &pack, int i, const float *v,
                                                     float inverse) {
    const uint32_t low =
        __byte_perm(tn_number_round_i8(v[0], inverse), tn_number_round_i8(v[1], inverse), 0x0040u);
    const uint32_t high =
        __byte_perm(tn_number_round_i8(v[2], inverse), tn_number_round_i8(v[3], inverse), 0x0040u);
    pack.words[i / 4] = __byte_perm(low, high, 0x5410u);
}

/* Division of numbers below 2^31 by one from 1 to 2^31 - 1: a multiplication and a shift
 * (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994). */
typedef struct tn_divider {
    uint32_t divisor, multiplier, shift;
} tn_divider;

static inline tn_divider tn_divider_make(uint32_t divisor) {
    tn_divider d = {divisor, 0, 0};
    while (d.shift < 32 && (1ull << d.shift) < divisor)
        d.shift++;
    d.multiplier = (uint32_t)(((1ull << 32) * ((1ull << d.shift) - divisor)) / divisor + 1);
    return d;
}
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of 32-bit floats of the width that a file is compiled for: TN_LANES is 16 with AVX-512,
 * 8 with AVX2, 4 elsewhere. A loop is written once over these, in a header that a generated file a
 * level includes (tenon/kit/levels.h). The operators of C are those of GCC's and clang's vector
 * extensions: + - * / lane by lane, comparisons that yield masks. For GCC and clang; functions of
 * these types are static, since the types differ from level to level. [thread: any]
 */
#ifndef TENON_KIT_VECTOR_H
#define TENON_KIT_VECTOR_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define TN_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define TN_VECTOR_BYTES 32
#else
#define TN_VECTOR_BYTES 16
#endif
#define TN_LANES (TN_VECTOR_BYTES / 4)

typedef float tn_vector __attribute__((vector_size(TN_VECTOR_BYTES), may_alias));
typedef int32_t tn_vector_bits __attribute__((vector_size(TN_VECTOR_BYTES), may_alias));
typedef uint32_t tn_vector_words /* the same, for sums that wrap around */
    __attribute__((vector_size(TN_VECTOR_BYTES), may_alias));
typedef float tn_vector_unaligned
    __attribute__((vector_size(TN_VECTOR_BYTES), aligned(4), may_alias));

#define TN_INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define TN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TN_UNROLL _Pragma("GCC unroll 16")
#endif

/* TN_LANES floats from and to memory of any alignment. */
TN_INLINE tn_vector tn_vector_load(const float *from) {
    return *(const tn_vector_unaligned *)from;
}
TN_INLINE void tn_vector_store(float *to, tn_vector value) {
    *(tn_vector_unaligned *)to = value;
}
/* `value` in all lanes. x - 0 is x for every x, so that this is one broadcast. */
TN_INLINE tn_vector tn_vector_all(float value) {
    const tn_vector zero = {0};
    return value - zero;
}
/* The first `count` lanes (count < TN_LANES; below 1: none); loaded, the others are zero. No other
 * memory is read or written. */
#if TN_VECTOR_BYTES == 64
TN_INLINE __mmask16 tn_vector_first(int64_t count) {
    return (__mmask16)((1u << (count > 0 ? count : 0)) - 1u);
}
TN_INLINE void tn_vector_store_part(float *to, tn_vector value, int64_t count) {
    _mm512_mask_storeu_ps(to, tn_vector_first(count), (__m512)value);
}
TN_INLINE tn_vector tn_vector_load_part(const float *from, int64_t count) {
    return (tn_vector)_mm512_maskz_loadu_ps(tn_vector_first(count), from);
}
#else
TN_INLINE void tn_vector_store_part(float *to, tn_vector value, int64_t count) {
    if (count > 0) memcpy(to, &value, (size_t)count * sizeof(float));
}
TN_INLINE tn_vector tn_vector_load_part(const float *from, int64_t count) {
    tn_vector value = {0};
    if (count > 0) memcpy(&value, from, (size_t)count * sizeof(float));
    return value;
}
#endif
/* mask ? a : b, lane by lane; NaN in a comparison makes the mask false. */
TN_INLINE tn_vector tn_vector_select(tn_vector_bits mask, tn_vector a, tn_vector b) {
    return (tn_vector)(((tn_vector_bits)a & mask) | ((tn_vector_bits)b & ~mask));
}
/* a < b ? b : a and a > b ? b : a, so that NaN in `a` is kept: one instruction each, which
 * compilers do not find. */
#if TN_VECTOR_BYTES == 64
TN_INLINE tn_vector tn_vector_max(tn_vector a, tn_vector b) {
    return (tn_vector)_mm512_max_ps((__m512)b, (__m512)a);
}
TN_INLINE tn_vector tn_vector_min(tn_vector a, tn_vector b) {
    return (tn_vector)_mm512_min_ps((__m512)b, (__m512)a);
}
#elif TN_VECTOR_BYTES == 32
TN_INLINE tn_vector tn_vector_max(tn_vector a, tn_vector b) {
    return (tn_vector)_mm256_max_ps((__m256)b, (__m256)a);
}
TN_INLINE tn_vector tn_vector_min(tn_vector a, tn_vector b) {
    return (tn_vector)_mm256_min_ps((__m256)b, (__m256)a);
}
#elif defined(__SSE2__)
TN_INLINE tn_vector tn_vector_max(tn_vector a, tn_vector b) {
    return (tn_vector)_mm_max_ps((__m128)b, (__m128)a);
}
TN_INLINE tn_vector tn_vector_min(tn_vector a, tn_vector b) {
    return (tn_vector)_mm_min_ps((__m128)b, (__m128)a);
}
#else
TN_INLINE tn_vector tn_vector_max(tn_vector a, tn_vector b) {
    return tn_vector_select((tn_vector_bits)(a < b), b, a);
}
TN_INLINE tn_vector tn_vector_min(tn_vector a, tn_vector b) {
    return tn_vector_select((tn_vector_bits)(a > b), b, a);
}
#endif

/* The larger one, as tn_vector_max has it; NaN where one of them is. */
TN_INLINE tn_vector tn_vector_larger(tn_vector a, tn_vector b) {
    return tn_vector_select((tn_vector_bits)(b != b), b, tn_vector_max(a, b));
}

#endif

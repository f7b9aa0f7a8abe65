/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of bytes that stand for floating-point values: widened to 32 bits, and stored rounded to
 * nearest even and saturated. As wide as vector.h's; NaN is stored as -128.
 */
#ifndef TENON_KIT_BYTE_VECTOR_H
#define TENON_KIT_BYTE_VECTOR_H

#include <tenon/kit/vector.h>

#include <math.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef tn_vector_bits tn_vector_whole;
typedef int32_t tn_vector_whole_unaligned
    __attribute__((vector_size(TN_VECTOR_BYTES), aligned(4), may_alias));

/* tn_byte_store takes values that tn_byte_clamp held within -128 and 127, and stores the first
 * `count` of them (all, when there are fewer). tn_step_store adds `zero` to the rounded values and
 * stores the low bytes, which are those of both kinds of integers that the sums can be. */
#if defined(__AVX512BW__)
TN_INLINE void tn_byte_store(int8_t *to, tn_vector value, int64_t count) {
    const __m512i whole = _mm512_cvtps_epi32((__m512)value);
    if (count >= TN_LANES)
        _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtsepi32_epi8(whole));
    else if (count > 0)
        _mm512_mask_cvtsepi32_storeu_epi8(to, (__mmask16)((1u << count) - 1u), whole);
}
TN_INLINE void tn_step_store(int8_t *to, tn_vector value, int32_t zero, int64_t count) {
    const __m512i whole =
        _mm512_add_epi32(_mm512_cvtps_epi32((__m512)value), _mm512_set1_epi32(zero));
    if (count >= TN_LANES)
        _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(whole));
    else if (count > 0)
        _mm512_mask_cvtepi32_storeu_epi8(to, (__mmask16)((1u << count) - 1u), whole);
}
TN_INLINE tn_vector tn_byte_clamp(tn_vector value, tn_vector low, tn_vector high) {
    return (tn_vector)_mm512_min_ps((__m512)high, _mm512_max_ps((__m512)low, (__m512)value));
}
#elif defined(__AVX2__)
TN_INLINE void tn_byte_store(int8_t *to, tn_vector value, int64_t count) {
    const __m256i whole = _mm256_cvtps_epi32((__m256)value);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    const __m128i bytes = _mm_packs_epi16(words, words);
    if (count >= TN_LANES)
        _mm_storel_epi64((__m128i *)(void *)to, bytes);
    else if (count > 0)
        memcpy(to, &bytes, (size_t)count);
}
TN_INLINE void tn_step_store(int8_t *to, tn_vector value, int32_t zero, int64_t count) {
    const __m256i whole = _mm256_cvtps_epi32((__m256)value);
    const __m128i words = _mm_add_epi16(
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1)),
        _mm_set1_epi16((int16_t)zero));
    const __m128i low = _mm_and_si128(words, _mm_set1_epi16(255));
    const __m128i bytes = _mm_packus_epi16(low, low);
    if (count >= TN_LANES)
        _mm_storel_epi64((__m128i *)(void *)to, bytes);
    else if (count > 0)
        memcpy(to, &bytes, (size_t)count);
}
TN_INLINE tn_vector tn_byte_clamp(tn_vector value, tn_vector low, tn_vector high) {
    return (tn_vector)_mm256_min_ps((__m256)high, _mm256_max_ps((__m256)low, (__m256)value));
}
#elif defined(__SSE2__)
TN_INLINE void tn_byte_store(int8_t *to, tn_vector value, int64_t count) {
    const __m128i whole = _mm_cvtps_epi32((__m128)value);
    const __m128i words = _mm_packs_epi32(whole, whole), bytes = _mm_packs_epi16(words, words);
    if (count > 0) memcpy(to, &bytes, (size_t)(count < TN_LANES ? count : TN_LANES));
}
TN_INLINE void tn_step_store(int8_t *to, tn_vector value, int32_t zero, int64_t count) {
    const __m128i whole = _mm_add_epi32(_mm_cvtps_epi32((__m128)value), _mm_set1_epi32(zero));
    const __m128i low = _mm_and_si128(whole, _mm_set1_epi32(255));
    const __m128i words = _mm_packs_epi32(low, low), bytes = _mm_packus_epi16(words, words);
    if (count > 0) memcpy(to, &bytes, (size_t)(count < TN_LANES ? count : TN_LANES));
}
TN_INLINE tn_vector tn_byte_clamp(tn_vector value, tn_vector low, tn_vector high) {
    return (tn_vector)_mm_min_ps((__m128)high, _mm_max_ps((__m128)low, (__m128)value));
}
#else
TN_INLINE void tn_byte_store(int8_t *to, tn_vector value, int64_t count) {
    for (int i = 0; i < TN_LANES && i < count; i++)
        to[i] = value[i] == value[i] ? (int8_t)rintf(value[i]) : INT8_MIN;
}
TN_INLINE void tn_step_store(int8_t *to, tn_vector value, int32_t zero, int64_t count) {
    for (int i = 0; i < TN_LANES && i < count; i++)
        to[i] = (int8_t)((uint32_t)(int32_t)rintf(value[i]) + (uint32_t)zero);
}
TN_INLINE tn_vector tn_byte_clamp(tn_vector value, tn_vector low, tn_vector high) {
    return tn_vector_min(tn_vector_max(value, low), high);
}
#endif

TN_INLINE tn_vector_whole tn_vector_whole_load(const int32_t *from) {
    return *(const tn_vector_whole_unaligned *)from;
}
TN_INLINE tn_vector tn_vector_of_whole(tn_vector_whole value) {
    return __builtin_convertvector(value, tn_vector);
}
/* The first `count` bytes, at most as many as there are lanes, as integers of 32 bits; the others
 * are zero. */
TN_INLINE tn_vector_whole tn_byte_widen(const int8_t *from, int64_t count) {
#if defined(__AVX512BW__)
    if (count >= TN_LANES)
        return (tn_vector_whole)_mm512_cvtepi8_epi32(
            _mm_loadu_si128((const __m128i *)(const void *)from));
    return (tn_vector_whole)_mm512_cvtepi8_epi32(
        _mm_maskz_loadu_epi8((__mmask16)((1u << (count > 0 ? count : 0)) - 1u), from));
#else
    int8_t bytes[16] = {0};
    if (count > 0) memcpy(bytes, from, (size_t)(count < TN_LANES ? count : TN_LANES));
#if defined(__AVX2__)
    return (tn_vector_whole)_mm256_cvtepi8_epi32(
        _mm_loadl_epi64((const __m128i *)(const void *)(count >= TN_LANES ? from : bytes)));
#elif defined(__SSE2__)
    int32_t four;
    memcpy(&four, count >= TN_LANES ? from : bytes, sizeof(four));
    __m128i value = _mm_cvtsi32_si128(four);
    value = _mm_unpacklo_epi8(value, value);
    return (tn_vector_whole)_mm_srai_epi32(_mm_unpacklo_epi16(value, value), 24);
#else
    tn_vector_whole value;
    for (int i = 0; i < TN_LANES; i++)
        value[i] = bytes[i];
    return value;
#endif
#endif
}
TN_INLINE tn_vector tn_byte_load(const int8_t *from, int64_t count) {
    return tn_vector_of_whole(tn_byte_widen(from, count));
}

#endif

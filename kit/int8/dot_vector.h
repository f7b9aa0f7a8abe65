/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dot_body.h needs of a processor level: the product of groups. Files named *_avx512vnni.c
 * have VNNI, *_avx2.c AVX2; elsewhere SSE2, or plain C where there is no SSE2. A group is
 * multiplied in TN_DOT_PARTS, one after the other.
 */
#ifndef TN_KIT_INT8_DOT_VECTOR_H
#define TN_KIT_INT8_DOT_VECTOR_H

#include <tenon/kit/byte_vector.h>

#if defined(__AVX512VNNI__)
#define TN_DOT_GROUP 4
typedef uint8_t tn_dot_element;
typedef __m512i tn_dot_weights;
typedef __m512i tn_dot_inputs;
#define TN_DOT_ZERO 128

TN_INLINE tn_dot_element tn_dot_element_of(int8_t value) {
    return (uint8_t)((uint8_t)value ^ 0x80u);
}
TN_INLINE tn_dot_weights tn_dot_load_weights(const int8_t *from) {
    return _mm512_loadu_si512(from);
}
TN_INLINE tn_dot_inputs tn_dot_load_inputs(const tn_dot_element *from) {
    int32_t four;
    memcpy(&four, from, sizeof(four));
    return _mm512_set1_epi32(four);
}
TN_INLINE tn_vector_whole tn_dot_add(tn_vector_whole sum, tn_dot_inputs x, tn_dot_weights w) {
    return (tn_vector_whole)_mm512_dpbusd_epi32((__m512i)sum, x, w);
}

#elif defined(TN_DOT_NARROW)
#define TN_DOT_GROUP 4
typedef uint8_t tn_dot_element;
typedef __m256i tn_dot_weights;
typedef __m256i tn_dot_inputs;
#define TN_DOT_ZERO  128

TN_INLINE tn_dot_element tn_dot_element_of(int8_t value) {
    return (uint8_t)((uint8_t)value ^ 0x80u);
}
TN_INLINE tn_dot_weights tn_dot_load_weights(const int8_t *from) {
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}
TN_INLINE tn_dot_inputs tn_dot_load_inputs(const tn_dot_element *from) {
    int32_t four;
    memcpy(&four, from, sizeof(four));
    return _mm256_set1_epi32(four);
}
TN_INLINE __m256i tn_dot_pairs(tn_dot_inputs x, tn_dot_weights w) {
    return _mm256_maddubs_epi16(x, w);
}
TN_INLINE tn_vector_whole tn_dot_add_pairs(tn_vector_whole sum, __m256i pairs) {
    return sum + (tn_vector_whole)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

#else
typedef int16_t tn_dot_element;
#define TN_DOT_ZERO 0

TN_INLINE tn_dot_element tn_dot_element_of(int8_t value) {
    return value;
}

#if defined(__AVX2__)
#define TN_DOT_GROUP               4
#define TN_DOT_PARTS               2
#define TN_DOT_WEIGHTS(from, part) tn_dot_load_half(from, part)
typedef __m256i tn_dot_weights;
typedef __m256i tn_dot_inputs;
/* Two of each lane's four, as 16 bits. */
TN_INLINE tn_dot_weights tn_dot_load_half(const int8_t *from, int half) {
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)from);
    const __m256i first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 1, 0, 4, 0, 5, 0, 8, 0, 9, 0, 12, 0, 13));
    const __m256i order = half ? _mm256_add_epi8(first, _mm256_set1_epi8(2)) : first;
    return _mm256_srai_epi16(_mm256_shuffle_epi8(bytes, order), 8);
}
TN_INLINE tn_dot_inputs tn_dot_load_inputs(const tn_dot_element *from) {
    int32_t two;
    memcpy(&two, from, sizeof(two));
    return _mm256_set1_epi32(two);
}
TN_INLINE tn_vector_whole tn_dot_add(tn_vector_whole sum, tn_dot_inputs x, tn_dot_weights w) {
    return sum + (tn_vector_whole)_mm256_madd_epi16(x, w);
}

#elif defined(__SSE2__)
#define TN_DOT_GROUP 2
typedef __m128i tn_dot_weights;
typedef __m128i tn_dot_inputs;
TN_INLINE tn_dot_weights tn_dot_load_weights(const int8_t *from) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}
TN_INLINE tn_dot_inputs tn_dot_load_inputs(const tn_dot_element *from) {
    int32_t two;
    memcpy(&two, from, sizeof(two));
    return _mm_set1_epi32(two);
}
TN_INLINE tn_vector_whole tn_dot_add(tn_vector_whole sum, tn_dot_inputs x, tn_dot_weights w) {
    return sum + (tn_vector_whole)_mm_madd_epi16(x, w);
}

#else
#define TN_DOT_GROUP 2
typedef struct tn_dot_weights {
    int8_t values[TN_LANES * 2];
} tn_dot_weights;
typedef struct tn_dot_inputs {
    tn_dot_element values[2];
} tn_dot_inputs;
TN_INLINE tn_dot_weights tn_dot_load_weights(const int8_t *from) {
    tn_dot_weights weights;
    memcpy(weights.values, from, sizeof(weights.values));
    return weights;
}
TN_INLINE tn_dot_inputs tn_dot_load_inputs(const tn_dot_element *from) {
    return (tn_dot_inputs){{from[0], from[1]}};
}
TN_INLINE tn_vector_whole tn_dot_add(tn_vector_whole sum, tn_dot_inputs x, tn_dot_weights w) {
    for (int i = 0; i < TN_LANES; i++)
        sum[i] += x.values[0] * w.values[2 * i] + x.values[1] * w.values[2 * i + 1];
    return sum;
}
#endif
#endif

#if !defined(TN_DOT_PARTS)
#define TN_DOT_PARTS               1
#define TN_DOT_WEIGHTS(from, part) tn_dot_load_weights(from)
#endif

#endif

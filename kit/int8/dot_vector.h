/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dot_body.h needs of a processor level: the product of groups. Files named *_avx512vnni.c
 * have VNNI, *_avx2.c AVX2; elsewhere SSE2, or plain C where there is no SSE2.
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
/* Sums of two products of 16 bits; any of them, as 32 bits; a product of any bytes. */
TN_INLINE __m256i tn_dot_pairs(tn_dot_inputs x, tn_dot_weights w) {
    return _mm256_maddubs_epi16(x, w);
}
TN_INLINE tn_vector_whole tn_dot_add_pairs(tn_vector_whole sum, __m256i pairs) {
    return sum + (tn_vector_whole)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
TN_INLINE tn_vector_whole tn_dot_add(tn_vector_whole sum, tn_dot_inputs x, tn_dot_weights w) {
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(255)),
                                           _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return sum + ((tn_vector_whole)even + (tn_vector_whole)odd);
}

#else
#define TN_DOT_GROUP 2
typedef int16_t tn_dot_element;
#define TN_DOT_ZERO  0

TN_INLINE tn_dot_element tn_dot_element_of(int8_t value) {
    return value;
}

#if defined(__AVX2__)
typedef __m256i tn_dot_weights;
typedef __m256i tn_dot_inputs;
TN_INLINE tn_dot_weights tn_dot_load_weights(const int8_t *from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)from));
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

#endif

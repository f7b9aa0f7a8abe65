/* SPDX-License-Identifier: Apache-2.0 */
/* Values as bytes with a zero point, four vectors at a time: rounded to whole numbers, halves to
 * the even one, which become integers of 16 bits; these saturate as the bytes do. NaN becomes 0
 * before the zero point is added. Where there are no such instructions TN_BYTES_PACK is not
 * defined. */
#ifndef TN_KIT_INT8_BYTES_PACK_H
#define TN_KIT_INT8_BYTES_PACK_H

#include <tenon/kit/vector.h>

#include <stdbool.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <immintrin.h>
#define TN_BYTES_PACK
#endif

/* The level's instructions; a value as an integer of 32 bits, which is negative beyond them; bytes
 * as they are packed, in the order of their elements. */
#if defined(__AVX512BW__)
#define TN_PACKED(name) _mm512_##name
typedef __m512i tn_packed_bits;
TN_INLINE tn_packed_bits tn_packed_whole(tn_vector value) {
    const __mmask16 is_number = _mm512_cmp_ps_mask((__m512)value, (__m512)value, _CMP_ORD_Q);
    return _mm512_cvtps_epi32(
        _mm512_maskz_min_ps(is_number, (__m512)value, _mm512_set1_ps(32767.0f)));
}
TN_INLINE void tn_packed_store(tn_packed_bits bytes, void *y) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(y, _mm512_permutexvar_epi32(order, bytes));
}
#elif defined(__AVX2__)
#define TN_PACKED(name) _mm256_##name
typedef __m256i tn_packed_bits;
TN_INLINE tn_packed_bits tn_packed_whole(tn_vector value) {
    const __m256 is_number = _mm256_cmp_ps((__m256)value, (__m256)value, _CMP_ORD_Q);
    return _mm256_cvtps_epi32(
        _mm256_min_ps(_mm256_and_ps((__m256)value, is_number), _mm256_set1_ps(32767.0f)));
}
TN_INLINE void tn_packed_store(tn_packed_bits bytes, void *y) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_permutevar8x32_epi32(bytes, order));
}
#elif defined(__SSE2__)
#define TN_PACKED(name) _mm_##name
typedef __m128i tn_packed_bits;
TN_INLINE tn_packed_bits tn_packed_whole(tn_vector value) {
    const __m128 is_number = _mm_cmpord_ps((__m128)value, (__m128)value);
    return _mm_cvtps_epi32(_mm_min_ps(_mm_and_ps((__m128)value, is_number), _mm_set1_ps(32767.0f)));
}
TN_INLINE void tn_packed_store(tn_packed_bits bytes, void *y) {
    _mm_storeu_si128((__m128i *)(void *)y, bytes);
}
#endif

#if defined(TN_BYTES_PACK)
/* `is_signed` is a constant wherever this is inlined; for tn_packed_store. */
TN_INLINE tn_packed_bits tn_bytes_packed(const tn_vector values[4], int32_t zero,
                                         const bool is_signed) {
    const tn_packed_bits zeros = TN_PACKED(set1_epi16)((int16_t)zero);
    const tn_packed_bits first =
        TN_PACKED(packs_epi32)(tn_packed_whole(values[0]), tn_packed_whole(values[1]));
    const tn_packed_bits second =
        TN_PACKED(packs_epi32)(tn_packed_whole(values[2]), tn_packed_whole(values[3]));
    const tn_packed_bits low = TN_PACKED(adds_epi16)(first, zeros);
    const tn_packed_bits high = TN_PACKED(adds_epi16)(second, zeros);
    return is_signed ? TN_PACKED(packs_epi16)(low, high) : TN_PACKED(packus_epi16)(low, high);
}

TN_INLINE void tn_bytes_pack(const tn_vector values[4], int32_t zero, const bool is_signed,
                             void *to) {
    tn_packed_store(tn_bytes_packed(values, zero, is_signed), to);
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of rows.h for one processor level, which TN_DEQUANTIZE_LEVEL names, and
 * TN_DEQUANTIZE_MATRIX the level's product; written for the compiler to vectorise.
 */
#include "dequantize_mat_mul/rows.h"

#include <stddef.h>
#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* Whole pairs; the last one may reach beyond `count`. */
INLINE void spread(const int64_t count, const uint8_t *restrict pairs, uint8_t *restrict to) {
    for (int64_t i = 0; i < (count + 1) / 2; i++) {
        to[2 * i] = pairs[i] & 15;
        to[2 * i + 1] = pairs[i] >> 4;
    }
}

INLINE void from_table(const int64_t count, const uint8_t *restrict codes,
                       const float *restrict table, const float *restrict zeros,
                       const float *restrict scales, float *restrict to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = (table[codes[i]] - (zeros ? zeros[i] : 0)) * scales[i];
}

INLINE void from_integers(const int64_t count, const uint8_t *restrict codes, const int32_t flip,
                          const float *restrict zeros, const float *restrict scales,
                          float *restrict to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = ((float)(((int32_t)codes[i] ^ flip) - flip) - (zeros ? zeros[i] : 0)) * scales[i];
}

INLINE void convert(const tn_dequantize_row *row, const int64_t count, float *restrict to) {
    uint8_t spread_codes[TN_DEQUANTIZE_WIDTH + 1];
    const uint8_t *codes = row->codes;
    if (row->bits == 4) {
        spread(count, codes, spread_codes);
        codes = spread_codes;
    }
    if (row->table)
        from_table(count, codes, row->table, row->zeros, row->scales, to);
    else if (row->zeros)
        from_integers(count, codes, row->flip, row->zeros, row->scales, to);
    else
        from_integers(count, codes, row->flip, NULL, row->scales, to);
}

/* A whole block of 4-bit codes; their numbers are looked up. */
#if defined(__AVX512BW__)
static void convert_block(const tn_dequantize_row *row, float *to) {
    const __m512i pairs =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)row->codes));
    const __m512i codes = _mm512_and_si512(_mm512_or_si512(pairs, _mm512_slli_epi16(pairs, 4)),
                                           _mm512_set1_epi16(0x0f0f));
    const __m512i all = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i flip = _mm512_set1_epi32(row->flip);
    const __m512 numbers = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_xor_si512(all, flip), flip));
    const __m128i parts[4] = {_mm512_castsi512_si128(codes), _mm512_extracti32x4_epi32(codes, 1),
                              _mm512_extracti32x4_epi32(codes, 2),
                              _mm512_extracti32x4_epi32(codes, 3)};
    for (int i = 0; i < 4; i++) {
        __m512 value = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(parts[i]), numbers);
        if (row->zeros) value = _mm512_sub_ps(value, _mm512_loadu_ps(row->zeros + 16 * i));
        _mm512_storeu_ps(to + 16 * i, _mm512_mul_ps(value, _mm512_loadu_ps(row->scales + 16 * i)));
    }
}
/* The same of 8-bit floats. */
static void convert_halves(const tn_dequantize_row *row, float *to) {
    const __m512 unit = _mm512_set1_ps(row->half_shift == 7 ? 256.0f : 1.0f);
    const __m512i magnitudes = _mm512_set1_epi16(0x7f);
    for (int i = 0; i < TN_DEQUANTIZE_WIDTH; i += 32) {
        const __m512i codes = _mm512_cvtepu8_epi16(
            _mm256_loadu_si256((const __m256i *)(const void *)(row->codes + i)));
        const __m512i magnitude = _mm512_and_si512(codes, magnitudes);
        const __m512i sign = _mm512_slli_epi16(_mm512_andnot_si512(magnitudes, codes), 8);
        __m512i halves =
            _mm512_or_si512(sign, _mm512_sll_epi16(magnitude, _mm_cvtsi32_si128(row->half_shift)));
        if (row->half_shift == 7) /* e4m3's only number that is none */
            halves = _mm512_mask_mov_epi16(halves, _mm512_cmpeq_epi16_mask(magnitude, magnitudes),
                                           _mm512_set1_epi16(0x7e00));
        for (int k = 0; k < 2; k++) {
            const int at = i + 16 * k;
            const __m256i half =
                k ? _mm512_extracti64x4_epi64(halves, 1) : _mm512_castsi512_si256(halves);
            __m512 value = _mm512_mul_ps(_mm512_cvtph_ps(half), unit);
            if (row->zeros) value = _mm512_sub_ps(value, _mm512_loadu_ps(row->zeros + at));
            _mm512_storeu_ps(to + at, _mm512_mul_ps(value, _mm512_loadu_ps(row->scales + at)));
        }
    }
}
#endif

/* Whole blocks of columns have a width that the compiler knows. */
static void dequantise(const tn_dequantize_row *row, float *to) {
#if defined(__AVX512BW__)
    if (row->count == TN_DEQUANTIZE_WIDTH && (row->bits == 4 || row->half_shift)) {
        if (row->bits == 4)
            convert_block(row, to);
        else
            convert_halves(row, to);
        return;
    }
#endif
    if (row->count == TN_DEQUANTIZE_WIDTH)
        convert(row, TN_DEQUANTIZE_WIDTH, to);
    else
        convert(row, row->count, to);
    for (int64_t i = row->count; i < row->width; i++)
        to[i] = 0;
}

const tn_dequantize_level TN_DEQUANTIZE_LEVEL = {dequantise, &TN_DEQUANTIZE_MATRIX};

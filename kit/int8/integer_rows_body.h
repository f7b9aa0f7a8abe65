/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of integer_rows.h for one processor level. Included by a file a level, which names
 * the table as TN_INTEGER_ROWS_LEVEL. The loops are written for the compiler to vectorise. */
#include "kit/int8/integer_rows.h"

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

static void correct(int64_t count, int32_t factor, const int32_t *terms, int32_t sum,
                    const int32_t *zeros, int32_t *sums) {
    const uint32_t by = (uint32_t)factor, off = (uint32_t)sum;
    for (int64_t i = 0; i < count; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] + by * (uint32_t)terms[i] - off * (uint32_t)zeros[i]);
}

/* Within the bounds adding a large number rounds. */
static inline int32_t round_within(float value, float low, float high) {
    const float magic = 0x1.8p23f;
    value = value == value ? value : 0.0f;
    value = value < low ? low : value;
    value = (value > high ? high : value) + magic;
    int32_t bits, base;
    memcpy(&bits, &value, sizeof(bits));
    memcpy(&base, &magic, sizeof(base));
    return bits - base;
}

static void to_bytes(int64_t count, const int32_t *sums, const float *factors, int32_t zero,
                     bool is_signed, uint8_t *y) {
    const float low = (float)((is_signed ? -128 : 0) - zero);
    const float high = (float)((is_signed ? 127 : 255) - zero);
    for (int64_t i = 0; i < count; i++)
        y[i] = (uint8_t)(round_within((float)sums[i] * factors[i], low, high) + zero);
}

static void to_floats(int64_t count, const int32_t *sums, const float *factors, const float *biases,
                      float *y) {
    if (!biases)
        for (int64_t i = 0; i < count; i++)
            y[i] = (float)sums[i] * factors[i];
    else
        for (int64_t i = 0; i < count; i++)
            y[i] = (float)sums[i] * factors[i] + biases[i];
}

static int32_t copy(int64_t count, const uint8_t *from, uint8_t flip, int8_t *to) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = (int8_t)(from[i] ^ flip);
        sum += to[i];
    }
    return sum;
}

/* Eight rows of eight bytes, one after the other, become eight columns. */
#if defined(__SSE2__)
static inline void transpose_block(const uint8_t *from, int64_t from_stride, uint8_t flip,
                                   uint8_t *to, int64_t to_stride) {
    const __m128i flips = _mm_set1_epi8((char)flip);
    __m128i pairs[4], fours[4], eights[4];
    for (int i = 0; i < 4; i++) { /* rows 2i and 2i + 1 */
        const void *a = from + 2 * i * from_stride, *b = from + (2 * i + 1) * from_stride;
        pairs[i] = _mm_unpacklo_epi8(_mm_loadl_epi64(a), _mm_loadl_epi64(b)) ^ flips;
    }
    for (int i = 0; i < 2; i++) { /* four rows: columns 0..3, columns 4..7 */
        fours[2 * i] = _mm_unpacklo_epi16(pairs[2 * i], pairs[2 * i + 1]);
        fours[2 * i + 1] = _mm_unpackhi_epi16(pairs[2 * i], pairs[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) { /* eight rows: two columns each */
        eights[2 * i] = _mm_unpacklo_epi32(fours[i], fours[i + 2]);
        eights[2 * i + 1] = _mm_unpackhi_epi32(fours[i], fours[i + 2]);
    }
    for (int i = 0; i < 4; i++) {
        _mm_storel_epi64((void *)(to + 2 * i * to_stride), eights[i]);
        _mm_storel_epi64((void *)(to + (2 * i + 1) * to_stride),
                         _mm_unpackhi_epi64(eights[i], eights[i]));
    }
}
#else
static inline void transpose_block(const uint8_t *from, int64_t from_stride, uint8_t flip,
                                   uint8_t *to, int64_t to_stride) {
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            to[c * to_stride + r] = from[r * from_stride + c] ^ flip;
}
#endif

static void transpose(int64_t rows, int64_t columns, const uint8_t *from, int64_t from_stride,
                      uint8_t flip, uint8_t *to, int64_t to_stride) {
    const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
    for (int64_t c = 0; c < whole_columns; c += 8)
        for (int64_t r = 0; r < whole_rows; r += 8)
            transpose_block(from + r * from_stride + c, from_stride, flip, to + c * to_stride + r,
                            to_stride);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; c++)
            to[c * to_stride + r] = from[r * from_stride + c] ^ flip;
}

const tn_integer_rows TN_INTEGER_ROWS_LEVEL = {correct, to_bytes, to_floats, copy, transpose};

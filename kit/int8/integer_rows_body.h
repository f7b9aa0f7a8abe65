/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of integer_rows.h for one processor level. Included by a file a level, which names
 * the table as TN_INTEGER_ROWS_LEVEL. The loops are written for the compiler to vectorise. */
#include "kit/int8/integer_rows.h"
#include "kit/int8/bytes_pack.h"
#include <tenon/kit/byte_vector.h>

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

static inline __attribute__((always_inline)) void to_bytes_as(int64_t count, const int32_t *sums,
                                                              const float *factors, int32_t zero,
                                                              const bool is_signed, uint8_t *y) {
    const float low = (float)((is_signed ? -128 : 0) - zero);
    const float high = (float)((is_signed ? 127 : 255) - zero);
    int64_t i = 0;
#if defined(TN_BYTES_PACK)
    for (; i + 4 * TN_LANES <= count; i += 4 * TN_LANES) {
        tn_vector values[4];
        TN_UNROLL for (int k = 0; k < 4; k++) values[k] =
            tn_vector_of_whole(tn_vector_whole_load(sums + i + k * TN_LANES)) *
            tn_vector_load(factors + i + k * TN_LANES);
        tn_bytes_pack(values, zero, is_signed, y + i);
    }
    for (; i + TN_LANES <= count; i += TN_LANES) {
        uint8_t bytes[4 * TN_LANES];
        const tn_vector values[4] = {tn_vector_of_whole(tn_vector_whole_load(sums + i)) *
                                     tn_vector_load(factors + i)};
        tn_bytes_pack(values, zero, is_signed, bytes);
        memcpy(y + i, bytes, TN_LANES);
    }
#endif
    for (; i < count; i++)
        y[i] = (uint8_t)(round_within((float)sums[i] * factors[i], low, high) + zero);
}

static void to_bytes(int64_t count, const int32_t *sums, const float *factors, int32_t zero,
                     bool is_signed, uint8_t *y) {
    if (is_signed)
        to_bytes_as(count, sums, factors, zero, true, y);
    else
        to_bytes_as(count, sums, factors, zero, false, y);
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

static int32_t sum_bytes(int64_t count, const uint8_t *bytes) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += bytes[i];
    return sum;
}

static int32_t sum_words(int64_t count, const int16_t *words) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
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

/* The last block of each direction may overlap the one before it. */
static void transpose(int64_t rows, int64_t columns, const uint8_t *from, int64_t from_stride,
                      uint8_t flip, uint8_t *to, int64_t to_stride) {
    for (int64_t c = 0; c < columns && rows >= 8 && columns >= 8; c += 8) {
        const int64_t column = c + 8 <= columns ? c : columns - 8;
        for (int64_t r = 0; r < rows; r += 8) {
            const int64_t row = r + 8 <= rows ? r : rows - 8;
            transpose_block(from + row * from_stride + column, from_stride, flip,
                            to + column * to_stride + row, to_stride);
        }
    }
    if (rows >= 8 && columns >= 8) return;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            to[c * to_stride + r] = from[r * from_stride + c] ^ flip;
}

/* Sixteen columns at a time, of 32 groups at most, whose sums 16 bits hold; zeros are behind the
 * last row. `group` is a constant wherever these are inlined. */
#if defined(__SSE2__)
enum { TILE = 16, TILE_GROUPS = 32 };
static inline __attribute__((always_inline)) __m128i pair_sums(__m128i pairs) {
    return _mm_add_epi16(_mm_srai_epi16(_mm_slli_epi16(pairs, 8), 8), _mm_srai_epi16(pairs, 8));
}

static inline __attribute__((always_inline)) void interleave_tile(const int64_t group, int64_t rows,
                                                                  int64_t step, const uint8_t *from,
                                                                  int64_t from_stride, uint8_t flip,
                                                                  int8_t *to, int32_t *sums) {
    const __m128i flips = _mm_set1_epi8((char)flip);
    __m128i low = _mm_setzero_si128(), high = low;
    int16_t totals[TILE];
    for (int64_t r = 0; r < rows; r += group, to += step) {
        __m128i of[4], *stored = (__m128i *)(void *)to;
        for (int64_t k = 0; k < group; k++) {
            const void *row = from + (r + k) * from_stride;
            of[k] = r + k < rows ? _mm_xor_si128(_mm_loadu_si128(row), flips) : _mm_setzero_si128();
        }
        const __m128i first = _mm_unpacklo_epi8(of[0], of[1]);
        const __m128i second = _mm_unpackhi_epi8(of[0], of[1]);
        low = _mm_add_epi16(low, pair_sums(first));
        high = _mm_add_epi16(high, pair_sums(second));
        if (group == 2) {
            _mm_storeu_si128(stored, first);
            _mm_storeu_si128(stored + 1, second);
            continue;
        }
        const __m128i third = _mm_unpacklo_epi8(of[2], of[3]);
        const __m128i fourth = _mm_unpackhi_epi8(of[2], of[3]);
        low = _mm_add_epi16(low, pair_sums(third));
        high = _mm_add_epi16(high, pair_sums(fourth));
        _mm_storeu_si128(stored, _mm_unpacklo_epi16(first, third));
        _mm_storeu_si128(stored + 1, _mm_unpackhi_epi16(first, third));
        _mm_storeu_si128(stored + 2, _mm_unpacklo_epi16(second, fourth));
        _mm_storeu_si128(stored + 3, _mm_unpackhi_epi16(second, fourth));
    }
    _mm_storeu_si128((__m128i *)(void *)totals, low);
    _mm_storeu_si128((__m128i *)(void *)(totals + 8), high);
    for (int i = 0; i < TILE; i++)
        sums[i] += totals[i];
}

static inline __attribute__((always_inline)) int64_t
interleave_tiles(const int64_t group, int64_t rows, int64_t columns, int64_t width,
                 const uint8_t *from, int64_t from_stride, uint8_t flip, int8_t *to,
                 int32_t *sums) {
    const int64_t most = TILE_GROUPS * group;
    int64_t c = 0;
    for (; c + TILE <= columns; c += TILE)
        for (int64_t r = 0; r < rows; r += most)
            interleave_tile(group, rows - r < most ? rows - r : most, width * group,
                            from + r * from_stride + c, from_stride, flip,
                            to + r * width + c * group, sums + c);
    return c;
}
#else
#define interleave_tiles(...) 0
#endif

static inline __attribute__((always_inline)) void
interleave_groups(const int64_t group, int64_t rows, int64_t columns, int64_t width,
                  const uint8_t *from, int64_t from_stride, uint8_t flip, int8_t *to,
                  int32_t *sums) {
    const int64_t done =
        interleave_tiles(group, rows, columns, width, from, from_stride, flip, to, sums);
    if (done == width) return;
    for (int64_t r = 0; r < rows; r += group, to += width * group) {
        memset(to + done * group, 0, (size_t)((width - done) * group));
        for (int64_t k = 0; k < group && r + k < rows; k++) {
            for (int64_t c = done; c < columns; c++) {
                to[c * group + k] = (int8_t)(from[(r + k) * from_stride + c] ^ flip);
                sums[c] += to[c * group + k];
            }
        }
    }
}

static void interleave(int64_t group, int64_t rows, int64_t columns, int64_t width,
                       const uint8_t *from, int64_t from_stride, uint8_t flip, int8_t *to,
                       int32_t *sums) {
    if (group == 2)
        interleave_groups(2, rows, columns, width, from, from_stride, flip, to, sums);
    else
        interleave_groups(4, rows, columns, width, from, from_stride, flip, to, sums);
}

const tn_integer_rows TN_INTEGER_ROWS_LEVEL = {correct,   to_bytes, to_floats, sum_bytes,
                                               sum_words, copy,     transpose, interleave};

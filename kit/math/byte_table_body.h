/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tn_byte_table_apply (byte_table.h) for one processor level, by vectors: included by a file a
 * level, which names the function as TN_BYTE_TABLE_APPLY. The table is 16 rows of 16 bytes; a
 * shuffle looks all elements up in one row, and gives zero for those of other rows.
 */
#include "kit/math/byte_table.h"

#include <immintrin.h>

#if defined(__AVX512BW__)
typedef __m512i bytes;
#define ALL(value) _mm512_set1_epi8(value)
static inline bytes row_of(const int8_t *from) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)from));
}
static inline bytes load(const int8_t *from) {
    return _mm512_loadu_si512(from);
}
static inline void store(int8_t *to, bytes value) {
    _mm512_storeu_si512(to, value);
}
/* `y` or what lies at `x` in the row; nothing where x is 16 or more. */
static inline bytes look_up(bytes y, bytes row, bytes x) {
    return _mm512_or_si512(y, _mm512_shuffle_epi8(row, _mm512_adds_epu8(x, ALL(0x70))));
}
static inline bytes subtract(bytes a, bytes b) {
    return _mm512_sub_epi8(a, b);
}
#else
typedef __m256i bytes;
#define ALL(value) _mm256_set1_epi8(value)
static inline bytes row_of(const int8_t *from) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from));
}
static inline bytes load(const int8_t *from) {
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}
static inline void store(int8_t *to, bytes value) {
    _mm256_storeu_si256((__m256i *)(void *)to, value);
}
static inline bytes look_up(bytes y, bytes row, bytes x) {
    return _mm256_or_si256(y, _mm256_shuffle_epi8(row, _mm256_adds_epu8(x, ALL(0x70))));
}
static inline bytes subtract(bytes a, bytes b) {
    return _mm256_sub_epi8(a, b);
}
#endif

void TN_BYTE_TABLE_APPLY(const tn_byte_table *table, int64_t count, const int8_t *from,
                         int8_t *to) {
    enum { LANES = sizeof(bytes), ROWS = 16 };
    bytes rows[ROWS];
    int64_t i = 0;
    for (int r = 0; r < ROWS; r++)
        rows[r] = row_of(table->values + 16 * r);
    for (; i + LANES <= count; i += LANES) {
        bytes x = subtract(load(from + i), ALL(-128)), y = ALL(0);
        for (int r = 0; r < ROWS; r++) {
            y = look_up(y, rows[r], x);
            x = subtract(x, ALL(16));
        }
        store(to + i, y);
    }
    tn_byte_table_apply(table, count - i, from + i, to + i);
}

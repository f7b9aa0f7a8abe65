/* SPDX-License-Identifier: Apache-2.0 */
/* Transpositions of bytes for convert_channels.c. Each step interleaves rows whose numbers differ
 * in one bit, which moves that bit behind those of the column. */
#include "tensor/convert_private.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { ROWS = 8, COLUMNS = 16 /* of a block */ };

typedef uint8_t byte_lanes __attribute__((vector_size(COLUMNS)));

/* Eight rows of sixteen bytes: three steps leave two columns in a vector. */
static void transpose_block(const uint8_t *from, int64_t from_row, uint8_t *to, int64_t to_row) {
    byte_lanes rows[ROWS], others[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) memcpy(&rows[i], from + i * from_row, COLUMNS);
    UNROLL for (int step = 0; step < 3; step++) {
        UNROLL for (int i = 0; i < ROWS / 2; i++) {
            const byte_lanes a = rows[i], b = rows[i + ROWS / 2];
            others[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                                    6, 22, 7, 23);
            others[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                                        13, 29, 14, 30, 15, 31);
        }
        UNROLL for (int i = 0; i < ROWS; i++) rows[i] = others[i];
    }
    UNROLL for (int i = 0; i < ROWS; i++) {
        memcpy(to + 2 * i * to_row, &rows[i], ROWS);
        memcpy(to + (2 * i + 1) * to_row, (const char *)&rows[i] + ROWS, ROWS);
    }
}

static void transpose_plain(int64_t rows, int64_t columns, const uint8_t *from, int64_t from_row,
                            uint8_t *to, int64_t to_row) {
    const int64_t whole_rows = rows / ROWS * ROWS, whole = columns / COLUMNS * COLUMNS;
    for (int64_t c = 0; c < whole; c += COLUMNS)
        for (int64_t r = 0; r < whole_rows; r += ROWS)
            transpose_block(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r < whole_rows ? whole : 0; c < columns; c++)
            to[c * to_row + r] = from[r * from_row + c];
}

/* ----------------------------------------------------------------------------------------------
 * AVX-512: sixteen rows or columns, and up to 64 of the others in a vector's four lanes */

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2")))
enum { WIDE = 64, LANE = 16 };

AVX512 static inline void interleave_lanes(__m512i rows[LANE]) {
    __m512i others[LANE];
    UNROLL for (int step = 0; step < 4; step++) {
        UNROLL for (int i = 0; i < LANE / 2; i++) {
            others[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + LANE / 2]);
            others[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + LANE / 2]);
        }
        UNROLL for (int i = 0; i < LANE; i++) rows[i] = others[i];
    }
}

AVX512 static inline __mmask64 first_bytes(int64_t count) {
    return count < WIDE ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
}

/* Up to 16 rows of up to 64 bytes. */
AVX512 static void few_rows(int64_t rows, int64_t columns, const uint8_t *from, int64_t from_row,
                            uint8_t *to, int64_t to_row) {
    const __mmask64 mask = first_bytes(columns);
    const __mmask16 row_mask = (__mmask16)first_bytes(rows);
    __m512i all[LANE];
    UNROLL for (int i = 0; i < LANE; i++) all[i] =
        i < rows ? _mm512_maskz_loadu_epi8(mask, from + i * from_row) : _mm512_setzero_si512();
    interleave_lanes(all);
#define STORE(lane)                                                                                \
    UNROLL for (int i = 0; i < LANE; i++) {                                                        \
        if (lane * LANE + i < columns)                                                             \
            _mm_mask_storeu_epi8(to + (lane * LANE + i) * to_row, row_mask,                        \
                                 _mm512_extracti32x4_epi32(all[i], lane));                         \
    }
#define STORE_WHOLE(lane)                                                                          \
    UNROLL for (int i = 0; i < LANE; i++)                                                          \
        _mm_storeu_si128((__m128i *)(void *)(to + (lane * LANE + i) * to_row),                     \
                         _mm512_extracti32x4_epi32(all[i], lane));
    if (rows == LANE && columns == WIDE) {
        STORE_WHOLE(0) STORE_WHOLE(1) STORE_WHOLE(2) STORE_WHOLE(3) return;
    }
    STORE(0)
    if (columns > LANE) STORE(1)
    if (columns > 2 * LANE) STORE(2)
    if (columns > 3 * LANE) STORE(3)
#undef STORE
#undef STORE_WHOLE
}

/* Up to 64 rows of up to 16 bytes. */
AVX512 static void few_columns(int64_t rows, int64_t columns, const uint8_t *from, int64_t from_row,
                               uint8_t *to, int64_t to_row) {
    const __mmask64 mask = first_bytes(rows);
    const __mmask16 column_mask = (__mmask16)first_bytes(columns);
    __m512i all[LANE];
#define LOAD(lane)                                                                                 \
    _mm_maskz_loadu_epi8(lane *LANE + i < rows ? column_mask : 0,                                  \
                         from + (lane * LANE + i) * from_row)
#define LOAD_WHOLE(lane)                                                                           \
    _mm_loadu_si128((const __m128i *)(const void *)(from + (lane * LANE + i) * from_row))
#define GATHER(load)                                                                               \
    UNROLL for (int i = 0; i < LANE; i++) {                                                        \
        all[i] = _mm512_inserti32x4(_mm512_castsi128_si512(load(0)), load(1), 1);                  \
        all[i] = _mm512_inserti32x4(_mm512_inserti32x4(all[i], load(2), 2), load(3), 3);           \
    }
    if (rows == WIDE && columns == LANE)
        GATHER(LOAD_WHOLE)
    else
        GATHER(LOAD)
#undef GATHER
#undef LOAD
#undef LOAD_WHOLE
    interleave_lanes(all);
    UNROLL for (int i = 0; i < LANE; i++) if (i < columns)
        _mm512_mask_storeu_epi8(to + i * to_row, mask, all[i]);
}

/* The last block of several may overlap the one before it. */
static inline int64_t block_at(int64_t at, int64_t size, int64_t all) {
    return all < size || at + size <= all ? at : all - size;
}

static inline int64_t block_size(int64_t at, int64_t size, int64_t all) {
    return all - at < size ? all - at : size;
}

/* Whole lines of the target are written where rows are many: pieces of lines that lie a power of
 * two apart push each other out of the first-level cache. */
AVX512 static void transpose_wide(int64_t rows, int64_t columns, const uint8_t *from,
                                  int64_t from_row, uint8_t *to, int64_t to_row) {
    const bool has_many = rows >= WIDE;
    const int64_t row_step = has_many ? WIDE : LANE, column_step = has_many ? LANE : WIDE;
    for (int64_t i = 0; i < rows; i += row_step) {
        const int64_t r = block_at(i, row_step, rows);
        for (int64_t k = 0; k < columns; k += column_step) {
            const int64_t c = block_at(k, column_step, columns);
            (has_many ? few_columns : few_rows)(
                block_size(r, row_step, rows), block_size(c, column_step, columns),
                from + r * from_row + c, from_row, to + c * to_row + r, to_row);
        }
    }
}
#endif

void tn_convert_transpose_bytes(int64_t rows, int64_t columns, const uint8_t *from,
                                int64_t from_row, uint8_t *to, int64_t to_row) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        transpose_wide(rows, columns, from, from_row, to, to_row);
        return;
    }
#endif
    transpose_plain(rows, columns, from, from_row, to, to_row);
}

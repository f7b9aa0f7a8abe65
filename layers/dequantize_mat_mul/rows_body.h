/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of rows.h for one processor level, which TN_DEQUANTIZE_LEVEL names, and
 * TN_DEQUANTIZE_MATRIX the level's product; written for the compiler to vectorise.
 */
#include "dequantize_mat_mul/rows.h"

#include <stddef.h>

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

/* Whole blocks of columns have a width that the compiler knows. */
static void dequantise(const tn_dequantize_row *row, float *to) {
    if (row->count == TN_DEQUANTIZE_WIDTH)
        convert(row, TN_DEQUANTIZE_WIDTH, to);
    else
        convert(row, row->count, to);
    for (int64_t i = row->count; i < row->width; i++)
        to[i] = 0;
}

const tn_dequantize_level TN_DEQUANTIZE_LEVEL = {dequantise, &TN_DEQUANTIZE_MATRIX};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of rows.h for one processor level, which TN_DEQUANTIZE_LEVEL names, and
 * TN_DEQUANTIZE_MATRIX the level's product; written for the compiler to vectorise.
 */
#include "dequantize_mat_mul/rows.h"

#include <string.h>

/* Whole pairs; the last one may reach beyond `count`. */
static void spread(int64_t count, const uint8_t *pairs, uint8_t *to) {
    for (int64_t i = 0; i < (count + 1) / 2; i++) {
        to[2 * i] = pairs[i] & 15;
        to[2 * i + 1] = pairs[i] >> 4;
    }
}

static void dequantise(const tn_dequantize_row *row, float *restrict to) {
    uint8_t spread_codes[TN_DEQUANTIZE_WIDTH + 1];
    const uint8_t *codes = row->codes;
    const int32_t flip = row->flip;
    const float *scales = row->scales;
    if (row->bits == 4) {
        spread(row->count, codes, spread_codes);
        codes = spread_codes;
    }
    if (row->table && row->zeros)
        for (int64_t i = 0; i < row->count; i++)
            to[i] = (row->table[codes[i]] - row->zeros[i]) * scales[i];
    else if (row->table)
        for (int64_t i = 0; i < row->count; i++)
            to[i] = row->table[codes[i]] * scales[i];
    else if (row->zeros)
        for (int64_t i = 0; i < row->count; i++)
            to[i] = ((float)(((int32_t)codes[i] ^ flip) - flip) - row->zeros[i]) * scales[i];
    else
        for (int64_t i = 0; i < row->count; i++)
            to[i] = (float)(((int32_t)codes[i] ^ flip) - flip) * scales[i];
    for (int64_t i = row->count; i < row->width; i++)
        to[i] = 0;
}

const tn_dequantize_level TN_DEQUANTIZE_LEVEL = {dequantise, &TN_DEQUANTIZE_MATRIX};

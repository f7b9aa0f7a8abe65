/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of stored weights as floats, compiled once a processor level from rows_body.h. */
#ifndef TN_LAYERS_DEQUANTIZE_MAT_MUL_ROWS_H
#define TN_LAYERS_DEQUANTIZE_MAT_MUL_ROWS_H

#include <tenon/kit/matrix.h>

enum { TN_DEQUANTIZE_WIDTH = 64 /* the most columns of a block */ };

/* to[i] = (code[i] - zeros[i]) * scales[i] for i < count, and 0 for count <= i < width. */
typedef struct tn_dequantize_row {
    const uint8_t *codes; /* of 4-bit codes the first one of a byte is in its low bits */
    int64_t count, width;
    uint8_t bits, flip; /* 8 or 4; the sign's bit of signed integers, else 0 */
    const float *table; /* floats of 8 bits by their code; null: integers */
    uint8_t half_shift; /* by which the bits below the sign become those of a 16-bit float: 8 for
                           e5m2, 7 for e4m3, whose numbers then are 1/256; 0: another type */
    const float *zeros; /* null: 0 */
    const float *scales;
} tn_dequantize_row;

typedef struct tn_dequantize_level {
    void (*row)(const tn_dequantize_row *row, float *to);
    const tn_matrix_level *matrix;
} tn_dequantize_level;

extern const tn_dequantize_level tn_dequantize_rows_baseline, tn_dequantize_rows_avx2,
    tn_dequantize_rows_avx512;

#endif

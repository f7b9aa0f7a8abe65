/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product with a constant right side: out[m][n] = sum over k of a[m][k] * b[k][n]. The right
 * side is packed once into blocks of a few vectors of columns, row after row, so that the product
 * streams through it. At its best with few rows (batch 1), where it runs at the speed of the memory
 * that holds the weights. The inner loop is matrix_body.h, compiled once a processor level.
 */
#ifndef TN_KIT_GEMM_MATRIX_H
#define TN_KIT_GEMM_MATRIX_H

#include <tenon/plugin.h>

#define TN_MATRIX_ROWS    6 /* the most rows of a tile */
#define TN_MATRIX_VECTORS 4 /* the most vectors of columns of a tile */

typedef struct tn_matrix_tile {
    const float *a; /* rows x depth */
    int64_t a_stride, depth;
    const float *b;    /* packed: depth x vectors */
    const float *bias; /* columns of the tile */
    float *output;
    int64_t output_stride;
    const float *residual; /* strides as the output; null: none */
    int64_t columns;       /* valid ones of the tile */
    uint32_t activation;
    float alpha, beta;
} tn_matrix_tile;

typedef void (*tn_matrix_function)(const tn_matrix_tile *tile);

typedef struct tn_matrix_level {
    uint32_t lanes;
    uint32_t vectors; /* of a full block of columns */
    tn_matrix_function functions[TN_MATRIX_ROWS][TN_MATRIX_VECTORS];
} tn_matrix_level;

extern const tn_matrix_level tn_matrix_baseline, tn_matrix_avx2, tn_matrix_avx512;

/* Floats of a packed right side of depth x columns: blocks of level->vectors vectors, the last one
 * as many vectors as it needs, its free lanes zero. */
int64_t tn_matrix_packed_floats(const tn_matrix_level *level, int64_t depth, int64_t columns);
/* Packs b[k][n] = from[k * row_stride + n * column_stride] * scale. */
void tn_matrix_pack(const tn_matrix_level *level, int64_t depth, int64_t columns, const float *from,
                    int64_t row_stride, int64_t column_stride, float scale, float *packed);

#endif

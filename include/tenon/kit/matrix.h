/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product with a constant right side: out[m][n] = sum over k of a[m][k] * b[k][n]. The right
 * side is packed once into blocks of a few vectors of columns, row after row, so that the product
 * streams through it. At its best with few rows (batch 1), where it runs at the speed of the memory
 * that holds the weights. Here are packing and one tile, on the calling thread; the whole product
 * on the engine's threads is tenon/kit/matrix_product.h, whole kernels are
 * tenon/kit/matrix_kernel.h.
 */
#ifndef TENON_KIT_MATRIX_H
#define TENON_KIT_MATRIX_H

#include <tenon/kit/levels.h>
#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MATRIX_ROWS    6 /* the most rows of a tile */
#define TN_MATRIX_VECTORS 4 /* the most vectors of columns of a tile */

/* One tile: output[m][n] = activation(sum over k of a[m][k] * b[k][n] + bias[n] + residual[m][n])
 * for the rows and vectors of columns that its function is of. Strides count elements, from row to
 * row; nothing has to be aligned. */
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
    /* What is read next is fetched into the cache meanwhile: from `ahead` on, `ahead_step` floats
     * for each of the depth's. Null: nothing. */
    const float *ahead;
    int64_t ahead_step;
} tn_matrix_tile;

typedef void (*tn_matrix_function)(const tn_matrix_tile *tile);

/* functions[rows - 1][vectors - 1]; there are those of up to `vectors` vectors. */
typedef struct tn_matrix_level {
    uint32_t lanes;
    uint32_t vectors; /* of a full block of columns */
    tn_matrix_function functions[TN_MATRIX_ROWS][TN_MATRIX_VECTORS];
} tn_matrix_level;

extern const tn_matrix_level tn_matrix_baseline, tn_matrix_avx2, tn_matrix_avx512;

/* Floats of a packed right side of depth x columns: blocks of level->vectors vectors, the last one
 * as many vectors as it needs, its free lanes zero. Depth and columns are those of a tensor that is
 * there, rounded up columns included: the product fits. */
int64_t tn_matrix_packed_floats(const tn_matrix_level *level, int64_t depth, int64_t columns);
/* Packs b[k][n] = from[k * row_stride + n * column_stride] * scale into `packed`, of as many floats
 * as tn_matrix_packed_floats says. With N columns of a block:
 *
 *     | b[0][0..N-1] | b[1][0..N-1] | .. | b[K-1][0..N-1] | b[0][N..2N-1] | ..
 * Best once, in `prepare`, through host->packed, so that plans and
 * contexts share it. Each level has its own layout. */
void tn_matrix_pack(const tn_matrix_level *level, int64_t depth, int64_t columns, const float *from,
                    int64_t row_stride, int64_t column_stride, float scale, float *packed);

#ifdef __cplusplus
}
#endif

#endif

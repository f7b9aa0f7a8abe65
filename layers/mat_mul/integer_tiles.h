/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMulInteger, QLinearMatMul and MatMulIntegerToFloat on tiles (kit/int8/tiles/tile_rows.h), with
 * scales of one number or one a column of B. One matrix B is multiplied with the rows of all
 * matrices of A at once. A constant B is packed once, one that varies by each run.
 *
 *     sum of (a - a_zero) * (b - b_zero) =
 *         sum of a * b - a_zero * sum of b + (depth * a_zero - sum of a) * b_zero
 *
 * where 128 is taken off unsigned bytes of B and off their zero points.
 */
#ifndef TN_LAYERS_MAT_MUL_INTEGER_TILES_H
#define TN_LAYERS_MAT_MUL_INTEGER_TILES_H

#include "kit/int8/tiles/tile_rows.h"
#include "mat_mul/integer.h"

typedef struct tn_integer_tiles {
    tn_call *call;
    const tn_integer_inputs *inputs;
    tn_mat_mul_sizes sizes;
    tn_tile_rows rows; /* of a product */
    int64_t products, b_matrices;
    int64_t a_rows; /* of all its matrices */
    uint8_t flip;   /* of bytes of B */
    const char *blob;
    int64_t blob_bytes; /* of one matrix, whole lines */

    /* in the workspace */
    char *packed; /* where B varies */
    tn_tile_pair *pairs;
    int32_t *terms, *zeros;        /* of each matrix B, padded columns */
    float *factors, *biases;       /* of columns */
    int32_t *row_sums, *row_zeros; /* of rows of A: see above; their zero points, negative */
    bool has_zeros, has_row_zeros;
    char *scratch;
} tn_integer_tiles;

/* False: this is not such a node, or its sizes are not. */
bool tn_integer_tiles_read(tn_call *call, tn_integer_tiles *out_run);
void tn_integer_tiles_pack(const tn_integer_tiles *run, int64_t matrix, int64_t first, int64_t last,
                           char *to);
/* Sets the run's pointers from `base` on, null: none yet, and answers how many bytes there are. */
uint64_t tn_integer_tiles_set_memory(tn_integer_tiles *run, bool varies, char *base);
/* Multiplies; `blob` is what a constant B was packed to, null: it varies. */
tn_status tn_integer_tiles_run(tn_integer_tiles *run, const void *blob);

#endif

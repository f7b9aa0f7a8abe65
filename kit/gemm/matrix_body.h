/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of the matrix product, compiled by matrix_<level>.c. Before it is included,
 * TN_MATRIX_LEVEL names the table to define. Small tiles run several sums over interleaved depths,
 * so that the multiply-adds' latency is hidden.
 */
#include <tenon/kit/matrix.h>
#include <tenon/kit/activation.h>

/* Sums of whole vectors without an activation, while they are in registers. */
TN_INLINE void tile_store(const int rows, const int vectors, const tn_matrix_tile *tile,
                          tn_vector sums[][TN_MATRIX_VECTORS]) {
    TN_UNROLL for (int v = 0; v < vectors; v++) {
        const tn_vector bias = tn_vector_load(tile->bias + v * TN_LANES);
        TN_UNROLL for (int m = 0; m < rows; m++) sums[m][v] += bias;
    }
    if (tile->residual) {
        TN_UNROLL for (int m = 0; m < rows; m++) TN_UNROLL for (int v = 0; v < vectors; v++)
            sums[m][v] += tn_vector_load(tile->residual + m * tile->output_stride + v * TN_LANES);
    }
    TN_UNROLL for (int m = 0; m < rows; m++) TN_UNROLL for (int v = 0; v < vectors; v++)
        tn_vector_store(tile->output + m * tile->output_stride + v * TN_LANES, sums[m][v]);
}

static __attribute__((noinline)) void tile_finish(const tn_matrix_tile *tile,
                                                  tn_vector sums[][TN_MATRIX_VECTORS], int rows,
                                                  int vectors) {
    for (int m = 0; m < rows; m++) {
        for (int v = 0; v < vectors; v++) {
            const int64_t left = tile->columns - v * TN_LANES;
            const int64_t at = m * tile->output_stride + v * TN_LANES;
            if (left <= 0) break;
            tn_vector value = sums[m][v];
            if (left >= TN_LANES) {
                value += tn_vector_load(tile->bias + v * TN_LANES);
                if (tile->residual) value += tn_vector_load(tile->residual + at);
                tn_vector_store(
                    tile->output + at,
                    tn_activation_vector(tile->activation, tile->alpha, tile->beta, value));
            } else {
                value += tn_vector_load_part(tile->bias + v * TN_LANES, left);
                if (tile->residual) value += tn_vector_load_part(tile->residual + at, left);
                tn_vector_store_part(
                    tile->output + at,
                    tn_activation_vector(tile->activation, tile->alpha, tile->beta, value), left);
            }
        }
    }
}

/* Into the second level of the cache: a block is larger than the first. */
#define AHEAD_LOCALITY 2

TN_INLINE void tile_run(const int rows, const int vectors, const tn_matrix_tile *tile) {
    const int chains = rows * vectors >= 6 ? 1 : rows * vectors >= 3 ? 2 : 4;
    tn_vector sums[4][TN_MATRIX_ROWS][TN_MATRIX_VECTORS];
    TN_UNROLL for (int u = 0; u < chains; u++) {
        TN_UNROLL for (int m = 0; m < rows; m++) {
            TN_UNROLL for (int v = 0; v < vectors; v++) sums[u][m][v] = (tn_vector){0};
        }
    }
    const float *b = tile->b, *a = tile->a;
    /* B itself stands for nothing: it is in the cache as soon as it is used. */
    uintptr_t ahead = (uintptr_t)(tile->ahead ? tile->ahead : b);
    int64_t k = 0;
    for (; k + chains <= tile->depth; k += chains) {
        __builtin_prefetch((const void *)ahead, 0, AHEAD_LOCALITY);
        ahead += (uintptr_t)(chains * tile->ahead_step) * sizeof(float);
        TN_UNROLL for (int u = 0; u < chains; u++) {
            tn_vector weights[TN_MATRIX_VECTORS];
            TN_UNROLL for (int v = 0; v < vectors; v++) weights[v] =
                tn_vector_load(b + (u * vectors + v) * TN_LANES);
            TN_UNROLL for (int m = 0; m < rows; m++) {
                const tn_vector x = tn_vector_all(a[m * tile->a_stride + k + u]);
                TN_UNROLL for (int v = 0; v < vectors; v++) sums[u][m][v] += x * weights[v];
            }
        }
        b += chains * vectors * TN_LANES;
    }
    for (; k < tile->depth; k++, b += vectors * TN_LANES) {
        for (int m = 0; m < rows; m++) {
            const tn_vector x = tn_vector_all(a[m * tile->a_stride + k]);
            TN_UNROLL for (int v = 0; v < vectors; v++) sums[0][m][v] +=
                x * tn_vector_load(b + v * TN_LANES);
        }
    }
    TN_UNROLL for (int u = 1; u < chains; u++) TN_UNROLL for (int m = 0; m < rows; m++)
        TN_UNROLL for (int v = 0; v < vectors; v++) sums[0][m][v] += sums[u][m][v];
    if (tile->columns >= vectors * TN_LANES && tile->activation == 0)
        tile_store(rows, vectors, tile, sums[0]);
    else
        tile_finish(tile, sums[0], rows, vectors);
}

#define TILE(M, V)                                                                                 \
    static void tile_##M##_##V(const tn_matrix_tile *tile) {                                       \
        tile_run(M, V, tile);                                                                      \
    }
#define ROW_2(M)                                                                                   \
    { tile_##M##_1, tile_##M##_2 }
#define ROW_4(M)                                                                                   \
    { tile_##M##_1, tile_##M##_2, tile_##M##_3, tile_##M##_4 }
#define TILES_2(M) TILE(M, 1) TILE(M, 2)
#define TILES_4(M) TILES_2(M) TILE(M, 3) TILE(M, 4)

/* Lists of macros that are functions. */
/* clang-format off */
#if TN_LANES == 16
TILES_4(1) TILES_4(2) TILES_4(3) TILES_4(4) TILES_4(5) TILES_4(6)
const tn_matrix_level TN_MATRIX_LEVEL = {
    .lanes = TN_LANES,
    .vectors = 4,
    .functions = {ROW_4(1), ROW_4(2), ROW_4(3), ROW_4(4), ROW_4(5), ROW_4(6)}};
#else
TILES_2(1) TILES_2(2) TILES_2(3) TILES_2(4) TILES_2(5) TILES_2(6)
const tn_matrix_level TN_MATRIX_LEVEL = {
    .lanes = TN_LANES,
    .vectors = 2,
    .functions = {ROW_2(1), ROW_2(2), ROW_2(3), ROW_2(4), ROW_2(5), ROW_2(6)}};
#endif
/* clang-format on */

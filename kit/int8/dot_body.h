/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of dot.h, compiled by dot_<level>.c. Before it is included, TN_DOT_LEVEL names the
 * table to define. Small tiles run several sums over interleaved groups, so that the products'
 * latency is hidden.
 */
#include "kit/int8/dot_finish.h"

/* Bytes side by side, bounds only. */
TN_INLINE void tile_finish_bytes(const tn_dot_tile *tile,
                                 tn_vector_whole sums[TN_DOT_ROWS][TN_DOT_VECTORS], const int rows,
                                 const int vectors) {
    const tn_vector low = tn_vector_all(tile->end->low), high = tn_vector_all(tile->end->high);
    TN_UNROLL for (int v = 0; v < vectors; v++) {
        const tn_vector scale = tn_vector_load(tile->scale + v * TN_LANES),
                        bias = tn_vector_load(tile->bias + v * TN_LANES);
        const int64_t left = tile->columns - v * TN_LANES;
        int8_t *to = (int8_t *)tile->output + v * TN_LANES;
        TN_UNROLL for (int m = 0; m < rows; m++) {
            const tn_vector value = tn_vector_of_whole(sums[m][v]) * scale + bias;
            tn_byte_store(to + m * tile->row_stride, tn_byte_clamp(value, low, high), left);
        }
    }
}

/* Whole vectors of sums side by side. */
TN_INLINE void tile_store_sums(const tn_dot_tile *tile,
                               tn_vector_whole sums[TN_DOT_ROWS][TN_DOT_VECTORS], const int rows,
                               const int vectors) {
    int32_t *to = tile->output;
    TN_UNROLL for (int m = 0; m < rows; m++) {
        TN_UNROLL for (int v = 0; v < vectors; v++)
            memcpy(to + m * tile->row_stride + v * TN_LANES, &sums[m][v], sizeof(sums[m][v]));
    }
}

TN_INLINE void tile_run(const int rows, const int vectors, const tn_dot_tile *tile) {
    const int chains = rows * vectors >= 6 ? 1 : rows * vectors >= 3 ? 2 : 4;
    const int64_t step = (int64_t)vectors * TN_LANES * TN_DOT_GROUP;
    tn_vector_whole sums[4][TN_DOT_ROWS][TN_DOT_VECTORS];
    const tn_dot_element *x[TN_DOT_ROWS];
    TN_UNROLL for (int m = 0; m < rows; m++) {
        x[m] = (const tn_dot_element *)tile->x + tile->rows[m];
        TN_UNROLL for (int v = 0; v < vectors; v++) {
            sums[0][m][v] = tn_vector_whole_load(tile->initial + v * TN_LANES);
            TN_UNROLL for (int u = 1; u < chains; u++) sums[u][m][v] = (tn_vector_whole){0};
        }
    }
    const int8_t *weights = tile->weights;
    const int32_t *offsets = tile->offsets;
    int64_t group = 0;
    for (; group + chains <= tile->groups; group += chains) {
        TN_UNROLL for (int u = 0; u < chains; u++) {
            const int64_t offset = offsets[group + u];
            tn_dot_weights loaded[TN_DOT_VECTORS];
            TN_UNROLL for (int v = 0; v < vectors; v++) loaded[v] =
                tn_dot_load_weights(weights + v * TN_LANES * TN_DOT_GROUP);
            TN_UNROLL for (int m = 0; m < rows; m++) {
                const tn_dot_inputs values = tn_dot_load_inputs(x[m] + offset);
                TN_UNROLL for (int v = 0; v < vectors; v++) sums[u][m][v] =
                    tn_dot_add(sums[u][m][v], values, loaded[v]);
            }
            weights += step;
        }
    }
    for (; group < tile->groups; group++, weights += step) {
        TN_UNROLL for (int m = 0; m < rows; m++) {
            const tn_dot_inputs values = tn_dot_load_inputs(x[m] + offsets[group]);
            TN_UNROLL for (int v = 0; v < vectors; v++) sums[0][m][v] = tn_dot_add(
                sums[0][m][v], values, tn_dot_load_weights(weights + v * TN_LANES * TN_DOT_GROUP));
        }
    }
    TN_UNROLL for (int m = 0; m < rows; m++) {
        TN_UNROLL for (int v = 0; v < vectors; v++) {
            TN_UNROLL for (int u = 1; u < chains; u++) sums[0][m][v] += sums[u][m][v];
        }
    }
    if (tile->end->is_plain && tile->end->type == TN_I8 && tile->column_stride == 1) {
        tile_finish_bytes(tile, sums[0], rows, vectors);
        return;
    }
    if (tile->end->type == TN_I32 && tile->column_stride == 1 &&
        tile->columns >= (int64_t)vectors * TN_LANES) {
        tile_store_sums(tile, sums[0], rows, vectors);
        return;
    }
    tn_vector_whole spilled[TN_DOT_ROWS * TN_DOT_VECTORS];
    TN_UNROLL for (int m = 0; m < rows; m++) {
        TN_UNROLL for (int v = 0; v < vectors; v++) spilled[m * vectors + v] = sums[0][m][v];
    }
    tn_dot_finish(tile, spilled, rows, vectors);
}

static void load_elements(void *to, const int8_t *from, int64_t count) {
    tn_dot_element *elements = to;
    for (int64_t i = 0; i < count; i++)
        elements[i] = tn_dot_element_of(from[i]);
}

static void clear_elements(void *to, int64_t count) {
    tn_dot_element *elements = to;
    for (int64_t i = 0; i < count; i++)
        elements[i] = TN_DOT_ZERO;
}

static void interleave_elements(void *to, const int8_t *from, int64_t plane, int64_t channels,
                                int64_t count) {
    tn_dot_element *elements = to;
    int64_t c = 0;
    for (; c + 4 <= channels; c += 4) {
        const int8_t *a = from + c * plane, *b = a + plane, *d = b + plane, *e = d + plane;
        for (int64_t i = 0; i < count; i++) {
            tn_dot_element *four = elements + i * channels + c;
            four[0] = tn_dot_element_of(a[i]);
            four[1] = tn_dot_element_of(b[i]);
            four[2] = tn_dot_element_of(d[i]);
            four[3] = tn_dot_element_of(e[i]);
        }
    }
    for (; c < channels; c++) {
        for (int64_t i = 0; i < count; i++)
            elements[i * channels + c] = tn_dot_element_of(from[c * plane + i]);
    }
}

#define TILE(M, V)                                                                                 \
    static void tile_##M##_##V(const tn_dot_tile *tile) {                                          \
        tile_run(M, V, tile);                                                                      \
    }
#define TILES_2(M) TILE(M, 1) TILE(M, 2)
#define TILES_4(M) TILES_2(M) TILE(M, 3) TILE(M, 4)

/* Lists of macros that are functions. */
/* clang-format off */
#define ROW_2(M) {tile_##M##_1, tile_##M##_2}
#define ROW_3(M) {tile_##M##_1, tile_##M##_2, tile_##M##_3}
#define ROW_4(M) {tile_##M##_1, tile_##M##_2, tile_##M##_3, tile_##M##_4}
TILES_2(1) TILES_2(2) TILES_2(3) TILES_2(4) TILES_2(5) TILES_2(6)
#if TN_LANES == 16
TILES_2(7) TILES_2(8) TILES_2(9) TILES_2(10) TILES_2(11) TILES_2(12)
TILE(1, 3) TILE(2, 3) TILE(3, 3) TILE(4, 3) TILE(5, 3) TILE(6, 3) TILE(7, 3) TILE(8, 3)
TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)
#define VECTORS 4
#define ROWS {12, 12, 8, 6}
#define FUNCTIONS {ROW_4(1), ROW_4(2), ROW_4(3), ROW_4(4), ROW_4(5), ROW_4(6), \
                   ROW_3(7), ROW_3(8), ROW_2(9), ROW_2(10), ROW_2(11), ROW_2(12)}
#else
#define VECTORS 2
#define ROWS {6, 6}
#define FUNCTIONS {ROW_2(1), ROW_2(2), ROW_2(3), ROW_2(4), ROW_2(5), ROW_2(6)}
#endif
const tn_dot_level TN_DOT_LEVEL = {.lanes = TN_LANES,
                                   .group = TN_DOT_GROUP,
                                   .vectors = VECTORS,
                                   .element_bytes = sizeof(tn_dot_element),
                                   .rows = ROWS,
                                   .initial_of_weight = TN_DOT_INITIAL_OF_WEIGHT,
                                   .functions = FUNCTIONS,
                                   .load = load_elements,
                                   .clear = clear_elements,
                                   .interleave = interleave_elements};
/* clang-format on */

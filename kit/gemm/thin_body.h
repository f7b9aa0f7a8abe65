/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of thin.h for one processor level. Before it is included, TN_THIN_LEVEL names the table
 * to define. */
#include "kit/gemm/thin.h"
#include "kit/math/across.h"
#include "kit/math/vector_some.h"
#include <tenon/kit/activation.h>

enum {
    VECTORS = 4, /* of columns, or rows, that are summed at once */
    STEPS = 8    /* rows of B that are read at once for a single row */
};

/* Stores sums, of which `left` count, at an offset of the output. */
TN_INLINE void finish(const tn_matrix_product *product, tn_vector value, int64_t at, int64_t left) {
    if (product->residual) value += tn_vector_load_some(product->residual + at, left);
    value = tn_activation_vector(product->activation, product->alpha, product->beta, value);
    tn_vector_store_some(product->output + at, value, left);
}

/* A single row: B is read in memory order, several of its rows for each time that the sums are
 * read. */
TN_INLINE void add_rows(const int steps, const tn_matrix_product *product, int64_t k,
                        const float *b, int64_t count, float *sums) {
    tn_vector factors[STEPS];
    TN_UNROLL for (int i = 0; i < steps; i++) factors[i] = tn_vector_all(product->a[k + i]);
    b += k * product->columns;
    for (int64_t at = 0; at < count; at += TN_LANES) {
        tn_vector sum = tn_vector_load(sums + at);
        TN_UNROLL for (int i = 0; i < steps; i++) sum +=
            tn_vector_load_some(b + i * product->columns + at, count - at) * factors[i];
        tn_vector_store(sums + at, sum);
    }
}

static void columns_1(const tn_matrix_product *product, const float *b, int64_t first,
                      int64_t last) {
    _Alignas(64) float sums[TN_THIN_UNIT_COLUMNS];
    const int64_t count = last - first;
    int64_t k = 0;
    for (int64_t at = 0; at < count; at += TN_LANES)
        tn_vector_store(sums + at, tn_vector_load_some(product->bias + first + at, count - at));
    for (; k + STEPS <= product->depth; k += STEPS)
        add_rows(STEPS, product, k, b + first, count, sums);
    for (; k < product->depth; k++)
        add_rows(1, product, k, b + first, count, sums);
    for (int64_t at = 0; at < count; at += TN_LANES)
        finish(product, tn_vector_load(sums + at), first + at, count - at);
}

/* Adds the products of row k of B to the sums of each row. */
TN_INLINE void add_row(const int rows, const int vectors, const tn_matrix_product *product,
                       const float *b, int64_t k, int64_t left, tn_vector sums[][VECTORS]) {
    tn_vector values[VECTORS];
    TN_UNROLL for (int v = 0; v < vectors; v++) values[v] =
        vectors > 1 ? tn_vector_load(b + k * product->columns + v * TN_LANES)
                    : tn_vector_load_some(b + k * product->columns, left);
    TN_UNROLL for (int r = 0; r < rows; r++) {
        const tn_vector factor = tn_vector_all(product->a[r * product->depth + k]);
        TN_UNROLL for (int v = 0; v < vectors; v++) sums[r][v] += values[v] * factor;
    }
}

/* Some vectors of columns of all rows, from column `first` on; `left` columns count. */
TN_INLINE void tile(const int rows, const int vectors, const tn_matrix_product *product,
                    const float *b, int64_t first, int64_t left) {
    tn_vector sums[TN_THIN_ROWS][VECTORS] = {{{0}}};
    b += first;
    for (int64_t k = 0; k < product->depth; k++)
        add_row(rows, vectors, product, b, k, left, sums);
    TN_UNROLL for (int r = 0; r < rows; r++) TN_UNROLL for (int v = 0; v < vectors; v++) {
        const int64_t at = first + v * TN_LANES, some = left - v * TN_LANES;
        finish(product, sums[r][v] + tn_vector_load_some(product->bias + at, some),
               r * product->columns + at, some);
    }
}

#define COLUMNS(rows)                                                                              \
    static void columns_##rows(const tn_matrix_product *product, const float *b, int64_t first,    \
                               int64_t last) {                                                     \
        for (; first + VECTORS * TN_LANES <= last; first += VECTORS * TN_LANES)                    \
            tile(rows, VECTORS, product, b, first, VECTORS *TN_LANES);                             \
        for (; first < last; first += TN_LANES)                                                    \
            tile(rows, 1, product, b, first, last - first);                                        \
    }
COLUMNS(2)
COLUMNS(3)
COLUMNS(4)

static void columns(const tn_matrix_product *product, const float *b, int64_t first, int64_t last) {
    switch (product->rows) {
    case 1:
        columns_1(product, b, first, last);
        return;
    case 2:
        columns_2(product, b, first, last);
        return;
    case 3:
        columns_3(product, b, first, last);
        return;
    default:
        columns_4(product, b, first, last);
    }
}

/* Vectors whose elements sum up to the products of some rows of A, from `a` on, and b. */
TN_INLINE void dot_rows(const int rows, int64_t depth, const float *a, const float *b,
                        tn_vector *out_sums) {
    tn_vector sums[VECTORS] = {{0}};
    for (int64_t k = 0; k < depth; k += TN_LANES) {
        const tn_vector value = tn_vector_load_some(b + k, depth - k);
        TN_UNROLL for (int r = 0; r < rows; r++) sums[r] +=
            tn_vector_load_some(a + r * depth + k, depth - k) * value;
    }
    TN_UNROLL for (int r = 0; r < rows; r++) out_sums[r] = sums[r];
}

/* A block of rows, as many as a vector has lanes: `some` of them count. */
static void dot_block(const tn_matrix_product *product, const float *b, const float *bias,
                      int64_t first, int64_t some) {
    const int64_t depth = product->depth, columns = product->columns;
    const float *a = product->a + first * depth;
    float of_column[TN_LANES], flat[TN_LANES * TN_THIN_COLUMNS];
    for (int64_t c = 0; c < columns; c++) {
        tn_vector sums[TN_LANES] = {{0}};
        int64_t r = 0;
        for (; r + VECTORS <= some; r += VECTORS)
            dot_rows(VECTORS, depth, a + r * depth, b + c * depth, sums + r);
        for (; r < some; r++)
            dot_rows(1, depth, a + r * depth, b + c * depth, sums + r);
        tn_vector_store(of_column, tn_vector_sum_gather(sums));
        for (r = 0; r < TN_LANES; r++)
            flat[r * columns + c] = of_column[r];
    }
    for (int64_t at = 0; at < some * columns; at += TN_LANES)
        finish(product, tn_vector_load(flat + at) + tn_vector_load(bias + at), first * columns + at,
               some * columns - at);
}

static void rows(const tn_matrix_product *product, const float *b, int64_t first, int64_t last) {
    float bias[TN_LANES * TN_THIN_COLUMNS]; /* of the elements of a block */
    for (int64_t i = 0; i < TN_LANES * product->columns; i++)
        bias[i] = product->bias[i % product->columns];
    for (; first < last; first += TN_LANES)
        dot_block(product, b, bias, first, last - first < TN_LANES ? last - first : TN_LANES);
}

const tn_thin_level TN_THIN_LEVEL = {columns, rows};

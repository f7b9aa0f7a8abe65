/* SPDX-License-Identifier: Apache-2.0 */
/* The body of step.h, included by a file a level that defines TN_RECURRENT_STEP_LEVEL. */
#include "kit/math/vector_some.h"
#include "kit/math/wide_math.h"
#include <tenon/kit/vector_math.h>
#include "recurrent/step.h"

#include <stdbool.h>

/* ----------------------------------------------------------------------------------------------
 * the product */

/* The vectors of a block of columns: those of tn_matrix_level. */
enum { BLOCK_VECTORS = TN_LANES == 16 ? 4 : 2, CHAINS = 4 };

static void row(int64_t depth, const float *state, const tn_recurrent_blocks *blocks) {
    const float *packed = blocks->packed;
    float *output = blocks->output;
    for (int64_t i = 0; i < blocks->count; i++) {
        tn_vector sums[CHAINS][BLOCK_VECTORS] = {0};
        const float *b = packed;
        int64_t k = 0;
        for (; k + CHAINS <= depth; k += CHAINS) {
            TN_UNROLL for (int u = 0; u < CHAINS; u++) {
                const tn_vector x = tn_vector_all(state[k + u]);
                TN_UNROLL for (int v = 0; v < BLOCK_VECTORS; v++) sums[u][v] +=
                    x * tn_vector_load(b + (u * BLOCK_VECTORS + v) * TN_LANES);
            }
            b += CHAINS * BLOCK_VECTORS * TN_LANES;
        }
        for (; k < depth; k++, b += BLOCK_VECTORS * TN_LANES) {
            const tn_vector x = tn_vector_all(state[k]);
            TN_UNROLL for (int v = 0; v < BLOCK_VECTORS; v++) sums[0][v] +=
                x * tn_vector_load(b + v * TN_LANES);
        }
        TN_UNROLL for (int v = 0; v < BLOCK_VECTORS; v++) {
            const tn_vector sum = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
            tn_vector_store(output + v * TN_LANES, tn_vector_load(output + v * TN_LANES) + sum);
        }
        packed += blocks->packed_step;
        output += blocks->output_step;
    }
}

/* `vectors` of the block's at a time, so that all sums are in registers; the weights are read once
 * for all rows. */
TN_INLINE void rows_run(const int rows, const int vectors, const tn_matrix_tile *tile) {
    for (int first = 0; first < BLOCK_VECTORS; first += vectors) {
        tn_vector sums[TN_RECURRENT_MOST_ROWS][BLOCK_VECTORS];
        const float *b = tile->b + first * TN_LANES;
        TN_UNROLL for (int m = 0; m < rows; m++) {
            TN_UNROLL for (int v = 0; v < vectors; v++) sums[m][v] = (tn_vector){0};
        }
        for (int64_t k = 0; k < tile->depth; k++, b += BLOCK_VECTORS * TN_LANES) {
            tn_vector weights[BLOCK_VECTORS];
            TN_UNROLL for (int v = 0; v < vectors; v++) weights[v] =
                tn_vector_load(b + v * TN_LANES);
            TN_UNROLL for (int m = 0; m < rows; m++) {
                const tn_vector x = tn_vector_all(tile->a[m * tile->a_stride + k]);
                TN_UNROLL for (int v = 0; v < vectors; v++) sums[m][v] += x * weights[v];
            }
        }
        TN_UNROLL for (int m = 0; m < rows; m++) {
            TN_UNROLL for (int v = 0; v < vectors; v++) {
                float *to = tile->output + m * tile->output_stride + (first + v) * TN_LANES;
                tn_vector_store(to, tn_vector_load(to) + sums[m][v]);
            }
        }
    }
}

#define ROWS(M, V)                                                                                 \
    static void rows_##M(const tn_matrix_tile *tile) {                                             \
        rows_run(M, V, tile);                                                                      \
    }
ROWS(2, BLOCK_VECTORS)
ROWS(3, BLOCK_VECTORS)
ROWS(4, BLOCK_VECTORS)
ROWS(5, BLOCK_VECTORS)
ROWS(6, BLOCK_VECTORS)
#if TN_LANES == 16
ROWS(7, 2)
ROWS(8, 2)
#define MORE_ROWS rows_7, rows_8
#else
#define MORE_ROWS NULL, NULL
#endif

/* ----------------------------------------------------------------------------------------------
 * cells */

/* Sigmoids are 1 / (1 + exp(-x)), and tanh is a fraction: products of them are divided once. */
static void lstm(int64_t count, const float *gates, float *c, float *h, float *y) {
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const int64_t left = count - k;
        tn_vector below, cell_below;
        const tn_vector input = 1.0f + tn_vector_exp(-tn_vector_load_some(gates + k, left));
        const tn_vector forget =
            1.0f + tn_vector_exp(-tn_vector_load_some(gates + count + k, left));
        const tn_vector output =
            1.0f + tn_vector_exp(-tn_vector_load_some(gates + 2 * count + k, left));
        const tn_vector above =
            tn_vector_tanh_fraction(tn_vector_load_some(gates + 3 * count + k, left), &below);
        const tn_vector cell = tn_vector_load_some(c + k, left) / forget + above / (below * input);
        const tn_vector cell_above = tn_vector_tanh_fraction(cell, &cell_below);
        const tn_vector hidden = cell_above / (cell_below * output);
        tn_vector_store_some(c + k, cell, left);
        tn_vector_store_some(h + k, hidden, left);
        if (y) tn_vector_store_some(y + k, hidden, left);
    }
}

static void gru_gates(int64_t count, float *gates, const float *before, float *reset) {
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const int64_t left = count - k;
        const tn_vector r = tn_vector_sigmoid(tn_vector_load_some(gates + count + k, left));
        tn_vector_store_some(gates + k, tn_vector_sigmoid(tn_vector_load_some(gates + k, left)),
                             left);
        tn_vector_store_some(reset + k, r * tn_vector_load_some(before + k, left), left);
    }
}

static void gru_linear(int64_t count, float *gates, const float *linear, float *candidate) {
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const int64_t left = count - k;
        const tn_vector r = tn_vector_sigmoid(tn_vector_load_some(gates + count + k, left));
        tn_vector_store_some(gates + k, tn_vector_sigmoid(tn_vector_load_some(gates + k, left)),
                             left);
        tn_vector_store_some(candidate + k,
                             tn_vector_load_some(candidate + k, left) +
                                 r * tn_vector_load_some(linear + k, left),
                             left);
    }
}

static void gru_finish(int64_t count, const float *z, const float *candidate, const float *before,
                       float *h, float *y) {
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const int64_t left = count - k;
        const tn_vector update = tn_vector_load_some(z + k, left);
        const tn_vector hidden =
            (1.0f - update) * tn_vector_tanh(tn_vector_load_some(candidate + k, left)) +
            update * tn_vector_load_some(before + k, left);
        tn_vector_store_some(h + k, hidden, left);
        if (y) tn_vector_store_some(y + k, hidden, left);
    }
}

/* ----------------------------------------------------------------------------------------------
 * doubles */

TN_INLINE void dots_tile(const int rows, const int columns, int64_t depth, const double *a,
                         int64_t a_stride, const double *b, double *y, int64_t y_stride) {
    tn_wide sums[2][4] = {0};
    for (int64_t k = 0; k < depth; k += TN_WIDE_LANES) {
        const int64_t left = depth - k;
        tn_wide right[4];
        TN_UNROLL for (int n = 0; n < columns; n++) right[n] =
            left >= TN_WIDE_LANES ? tn_wide_load(b + n * depth + k)
                                  : tn_wide_load_part(b + n * depth + k, left);
        TN_UNROLL for (int m = 0; m < rows; m++) {
            const tn_wide x = left >= TN_WIDE_LANES ? tn_wide_load(a + m * a_stride + k)
                                                    : tn_wide_load_part(a + m * a_stride + k, left);
            TN_UNROLL for (int n = 0; n < columns; n++) sums[m][n] += x * right[n];
        }
    }
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < columns; n++)
            for (int i = 0; i < TN_WIDE_LANES; i++)
                y[m * y_stride + n] += sums[m][n][i];
}

static void dots(int64_t rows, int64_t columns, int64_t depth, const double *a, int64_t a_stride,
                 const double *b, double *y, int64_t y_stride) {
    for (int64_t n = 0; n < columns;) {
        const bool are_four = columns - n >= 4;
        for (int64_t m = 0; m < rows; m += 2) {
            const double *from = a + m * a_stride, *weights = b + n * depth;
            double *to = y + m * y_stride + n;
            if (are_four && rows - m >= 2)
                dots_tile(2, 4, depth, from, a_stride, weights, to, y_stride);
            else if (are_four)
                dots_tile(1, 4, depth, from, a_stride, weights, to, y_stride);
            else
                for (int64_t r = m; r < rows && r < m + 2; r++)
                    dots_tile(1, 1, depth, a + r * a_stride, a_stride, weights,
                              y + r * y_stride + n, y_stride);
        }
        n += are_four ? 4 : 1;
    }
}

/* ----------------------------------------------------------------------------------------------
 * quantisation */

static void range(int64_t count, const float *from, float *low, float *high) {
    tn_vector least = tn_vector_all(*low), most = tn_vector_all(*high);
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const tn_vector x =
            tn_vector_load_some(from + k, count - k); /* both hold 0, as lanes without elements */
        least = tn_vector_select((tn_vector_bits)(x < least), x, least);
        most = tn_vector_select((tn_vector_bits)(x > most), x, most);
    }
    for (int i = 0; i < TN_LANES; i++) {
        *low = least[i] < *low ? least[i] : *low;
        *high = most[i] > *high ? most[i] : *high;
    }
}

static void to_bytes(int64_t count, const float *from, float scale, int32_t zero, uint8_t *to) {
    const float magic = 0x1.8p23f; /* added, it rounds to an integer in the lowest bits */
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const int64_t left = count - k < TN_LANES ? count - k : TN_LANES;
        tn_vector quotient = tn_vector_load_some(from + k, left) / scale;
        quotient =
            tn_vector_select((tn_vector_bits)(quotient == quotient), quotient, tn_vector_all(0.0f));
        quotient = tn_vector_min(tn_vector_max(quotient, tn_vector_all((float)-zero)),
                                 tn_vector_all((float)(255 - zero)));
        const tn_vector_bits whole =
            (tn_vector_bits)(quotient + magic) - (tn_vector_bits)tn_vector_all(magic) + zero;
        for (int64_t i = 0; i < left; i++)
            to[k + i] = (uint8_t)whole[i];
    }
}

static void scale_sums(int64_t count, const int32_t *sums, float scale, const float *scales,
                       const float *added, float *gates) {
    for (int64_t k = 0; k < count; k += TN_LANES) {
        const int64_t left = count - k;
        tn_vector_bits whole = {0};
        memcpy(&whole, sums + k, (size_t)(left < TN_LANES ? left : TN_LANES) * sizeof(int32_t));
        const tn_vector factor = tn_vector_load_some(scales + k, left) * scale;
        tn_vector_store_some(gates + k,
                             tn_vector_load_some(added + k, left) +
                                 __builtin_convertvector(whole, tn_vector) * factor,
                             left);
    }
}

const tn_recurrent_step_level TN_RECURRENT_STEP_LEVEL = {
    .row = row,
    .rows = {rows_2, rows_3, rows_4, rows_5, rows_6, MORE_ROWS},
    .lstm = lstm,
    .gru_gates = gru_gates,
    .gru_linear = gru_linear,
    .gru_finish = gru_finish,
    .dots = dots,
    .range = range,
    .to_bytes = to_bytes,
    .scale_sums = scale_sums};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tiles.h declares, compiled by tiles_<level>.c for that level's vectors. Before it is
 * included, TN_WINOGRAD_LEVEL names the table to define. Lanes are channels, or filters.
 */
#include "conv/winograd/tiles.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/vector_math.h>

/* Points 0, a, -a, b, -b, infinity. */
#define A  0.625f
#define B  1.5f
#define A2 (A * A)
#define B2 (B * B)

enum { OUTPUTS = TN_WINOGRAD_OUTPUTS, POINTS = TN_WINOGRAD_POINTS };

/* B^T x: rows are the coefficients of the products of (x - point) over all other points. */
TN_INLINE void transform_line(const tn_vector x[POINTS], tn_vector to[POINTS]) {
    const tn_vector even_a = x[4] - B2 * x[2], odd_a = A * (x[3] - B2 * x[1]);
    const tn_vector even_b = x[4] - A2 * x[2], odd_b = B * (x[3] - A2 * x[1]);
    to[0] = A2 * B2 * x[0] + (x[4] - (A2 + B2) * x[2]);
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = A2 * B2 * x[1] + (x[5] - (A2 + B2) * x[3]);
}

/* A^T m: the powers of the points. */
TN_INLINE void output_line(const tn_vector m[POINTS], tn_vector to[OUTPUTS]) {
    const tn_vector sum_a = m[1] + m[2], difference_a = A * (m[1] - m[2]);
    const tn_vector sum_b = m[3] + m[4], difference_b = B * (m[3] - m[4]);
    to[0] = m[0] + sum_a + sum_b;
    to[1] = difference_a + difference_b;
    to[2] = A2 * sum_a + B2 * sum_b;
    to[3] = A2 * difference_a + (B2 * difference_b + m[5]);
}

static void transform(const float *x, int64_t row_floats, float *v, int64_t element_floats) {
    tn_vector lines[POINTS][POINTS]; /* [element of a column][column] */
    TN_UNROLL for (int column = 0; column < POINTS; column++) {
        tn_vector line[POINTS], to[POINTS];
        TN_UNROLL for (int row = 0; row < POINTS; row++) line[row] =
            tn_vector_load(x + row * row_floats + column * TN_LANES);
        transform_line(line, to);
        TN_UNROLL for (int row = 0; row < POINTS; row++) lines[row][column] = to[row];
    }
    for (int row = 0; row < POINTS; row++) {
        tn_vector to[POINTS];
        transform_line(lines[row], to);
        TN_UNROLL for (int column = 0; column < POINTS; column++)
            tn_vector_store(v + (row * POINTS + column) * element_floats, to[column]);
    }
}

TN_INLINE void multiply_rows(const int rows, const float *v, int64_t v_floats, const float *u,
                             int64_t channels, float *sums, int64_t sums_floats) {
    tn_vector totals[TN_WINOGRAD_ROWS][TN_WINOGRAD_VECTORS];
    TN_UNROLL for (int row = 0; row < rows; row++) totals[row][0] = totals[row][1] = (tn_vector){0};
    for (int64_t c = 0; c < channels; c++) {
        const tn_vector low = tn_vector_load(u), high = tn_vector_load(u + TN_LANES);
        TN_UNROLL for (int row = 0; row < rows; row++) {
            const tn_vector value = tn_vector_all(v[row * v_floats + c]);
            totals[row][0] += value * low;
            totals[row][1] += value * high;
        }
        u += TN_WINOGRAD_VECTORS * TN_LANES;
    }
    TN_UNROLL for (int row = 0; row < rows; row++) {
        tn_vector_store(sums + row * sums_floats, totals[row][0]);
        tn_vector_store(sums + row * sums_floats + TN_LANES, totals[row][1]);
    }
}

/* What is stored of a sum that lies at `at` in y. */
TN_INLINE tn_vector finish(const tn_winograd_output *output, tn_vector_bits are_filters, int64_t at,
                           tn_vector sum) {
    if (output->residual) sum += tn_vector_load(output->residual + at);
    if (output->activation == TN_ACTIVATION_SWISH)
        sum = sum * tn_vector_sigmoid(sum * output->alpha);
    else
        sum = tn_activation_vector(output->activation, output->alpha, output->beta, sum);
    return (tn_vector)((tn_vector_bits)sum & are_filters);
}

static void store(const tn_winograd_output *output) {
    tn_vector lines[OUTPUTS][POINTS];
    tn_vector_bits are_filters;
    for (int lane = 0; lane < TN_LANES; lane++)
        are_filters[lane] = lane < output->filters ? -1 : 0;
    TN_UNROLL for (int column = 0; column < POINTS; column++) {
        tn_vector line[POINTS], to[OUTPUTS];
        TN_UNROLL for (int row = 0; row < POINTS; row++) line[row] =
            tn_vector_load(output->sums + (row * POINTS + column) * output->element_floats);
        output_line(line, to);
        TN_UNROLL for (int row = 0; row < OUTPUTS; row++) lines[row][column] = to[row];
    }
    const tn_vector bias = tn_vector_load(output->bias);
    for (int64_t row = 0; row < output->height; row++) {
        tn_vector to[OUTPUTS];
        output_line(lines[row], to);
        for (int64_t column = 0; column < output->width; column++) {
            const int64_t at = row * output->row_floats + column * TN_LANES;
            tn_vector_store(output->y + at, finish(output, are_filters, at, to[column] + bias));
        }
    }
}

#define ROWS(N)                                                                                    \
    static void multiply_##N(const float *v, int64_t v_floats, const float *u, int64_t channels,   \
                             float *sums, int64_t sums_floats) {                                   \
        multiply_rows(N, v, v_floats, u, channels, sums, sums_floats);                             \
    }
/* clang-format off */
ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#if TN_LANES == 16 /* and twice the registers */
ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12)
#define MULTIPLY_MORE , multiply_7, multiply_8, multiply_9, multiply_10, multiply_11, multiply_12
enum { MOST_ROWS = 12 };
#else
#define MULTIPLY_MORE
enum { MOST_ROWS = 6 };
#endif
/* clang-format on */

const tn_winograd_level TN_WINOGRAD_LEVEL = {.lanes = TN_LANES,
                                             .rows = MOST_ROWS,
                                             .transform = transform,
                                             .multiply = {multiply_1, multiply_2, multiply_3,
                                                          multiply_4, multiply_5,
                                                          multiply_6 MULTIPLY_MORE},
                                             .store = store};

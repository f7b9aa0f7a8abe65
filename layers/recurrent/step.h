/* SPDX-License-Identifier: Apache-2.0 */
/* What a step computes at each processor level, from step_body.h: the hidden state's product for
 * many streams, and cells with the usual activations in one pass. Rows are contiguous, of any
 * length and alignment. [thread: any] */
#ifndef TN_LAYERS_RECURRENT_STEP_H
#define TN_LAYERS_RECURRENT_STEP_H

#include <tenon/kit/matrix.h>

enum { TN_RECURRENT_MOST_ROWS = 8 };

/* Full blocks of columns one after the other, forwards or backwards; steps count floats. */
typedef struct tn_recurrent_blocks {
    const float *packed;
    float *output;
    int64_t packed_step, output_step, count;
} tn_recurrent_blocks;

typedef struct tn_recurrent_step_level {
    /* Adds the product of one row by each block to the outputs: bound by reading the weights,
     * without a pause between two blocks. */
    void (*row)(int64_t depth, const float *state, const tn_recurrent_blocks *blocks);
    /* rows[m - 2]: adds the product of m rows by a full block of columns to the outputs; residual,
     * bias and activation are not read. Null where the registers are too few. */
    tn_matrix_function rows[TN_RECURRENT_MOST_ROWS - 1];
    /* LSTM with sigmoid, tanh, tanh. gates: i, f, o, c, each `count` elements; c and h are written;
     * y too, if it is not null. */
    void (*lstm)(int64_t count, const float *gates, float *c, float *h, float *y);
    /* GRU with sigmoid. gates: z and r, of which z is activated; reset = r * before. */
    void (*gru_gates)(int64_t count, float *gates, const float *before, float *reset);
    /* GRU with sigmoid and linear_before_reset: gates as above, candidate += r * linear. */
    void (*gru_linear)(int64_t count, float *gates, const float *linear, float *candidate);
    /* h = (1 - z) * tanh(candidate) + z * before, to y too, if it is not null. */
    void (*gru_finish)(int64_t count, const float *z, const float *candidate, const float *before,
                       float *h, float *y);
    /* Of doubles: y[m][n] += the product of row m of a by row n of b, both of `depth` elements; b's
     * rows lie one behind the other. */
    void (*dots)(int64_t rows, int64_t columns, int64_t depth, const double *a, int64_t a_stride,
                 const double *b, double *y, int64_t y_stride);
    /* Of dynamic.h. The least and the greatest of *low, *high and the elements; NaN is passed
     * over. */
    void (*range)(int64_t count, const float *from, float *low, float *high);
    /* Bytes by a scale and a zero point, to nearest even; NaN becomes the zero point. */
    void (*to_bytes)(int64_t count, const float *from, float scale, int32_t zero, uint8_t *to);
    /* gates = added + sums * (scale * scales); `added` may be the gates. */
    void (*scale_sums)(int64_t count, const int32_t *sums, float scale, const float *scales,
                       const float *added, float *gates);
} tn_recurrent_step_level;

extern const tn_recurrent_step_level tn_recurrent_step_baseline, tn_recurrent_step_avx2,
    tn_recurrent_step_avx512;

#endif

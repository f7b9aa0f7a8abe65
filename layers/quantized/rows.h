/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of sums of 8-bit integers, compiled once a processor level from rows_body.h. */
#ifndef TN_LAYERS_QUANTIZED_ROWS_H
#define TN_LAYERS_QUANTIZED_ROWS_H

#include <stdint.h>

/*
 *     y = round((a - a_zero) * a_factor + (b - b_zero) * b_factor) + y_zero, saturated
 *
 * Signed bytes have 128 added, and so have their zero points: their `flip` is 0x80, else 0.
 */
typedef struct tn_quantized_sum {
    uint8_t a_flip, b_flip, y_flip;
    int32_t a_zero, b_zero, y_zero;
    float a_factor, b_factor;
} tn_quantized_sum;

/* Steps are 1, or 0 where one element serves the whole row. */
typedef void (*tn_quantized_sum_row)(const tn_quantized_sum *sum, int64_t count, const uint8_t *a,
                                     int64_t a_step, const uint8_t *b, int64_t b_step, uint8_t *y);

typedef struct tn_quantized_level {
    tn_quantized_sum_row add;
} tn_quantized_level;

extern const tn_quantized_level tn_quantized_baseline, tn_quantized_avx2, tn_quantized_avx512;

#endif

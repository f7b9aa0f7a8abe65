/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of sums and products of 8-bit integers, compiled once a processor level from rows_body.h. */
#ifndef TN_LAYERS_QUANTIZED_ROWS_H
#define TN_LAYERS_QUANTIZED_ROWS_H

#include <stdint.h>

/*
 *     sum:     y = round((a - a_zero) * a_factor + (b - b_zero) * b_factor) + y_zero
 *     product: y = round((a - a_zero) * (b - b_zero) * a_factor) + y_zero
 *
 * held within y_low and y_high. Signed bytes have 128 added, and so have their zero points and
 * bounds: their `flip` is 0x80, else 0.
 */
typedef struct tn_quantized_pair {
    uint8_t a_flip, b_flip, y_flip;
    int32_t a_zero, b_zero, y_zero;
    uint8_t y_low, y_high;
    float a_factor, b_factor; /* b_factor: of a sum */
} tn_quantized_pair;

/* Steps are 1, or 0 where one element serves the whole row. */
typedef void (*tn_quantized_row)(const tn_quantized_pair *pair, int64_t count, const uint8_t *a,
                                 int64_t a_step, const uint8_t *b, int64_t b_step, uint8_t *y);

typedef struct tn_quantized_level {
    tn_quantized_row add, multiply;
} tn_quantized_level;

extern const tn_quantized_level tn_quantized_baseline, tn_quantized_avx2, tn_quantized_avx512;

#endif

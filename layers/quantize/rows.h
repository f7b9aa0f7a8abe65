/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of floats to integers of 8 and 16 bits and back by scale and zero point, compiled once a
 * processor level from rows_body.h.
 */
#ifndef TN_LAYERS_QUANTIZE_ROWS_H
#define TN_LAYERS_QUANTIZE_ROWS_H

#include <stdint.h>

/* `step` is 0 where scale and zero point are those of the whole row, 1 where each element has its
 * own. `zero` has the integers' type; null: all zero. */
typedef void (*tn_quantize_row)(int64_t count, const void *x, const float *scale, const void *zero,
                                int64_t step, void *y);

typedef struct tn_quantize_level {
    tn_quantize_row to_i8, to_u8, from_i8, from_u8, to_i16, to_u16, from_i16, from_u16;
    /* The least and the greatest of 0 and the elements; NaN is passed over. */
    void (*range)(int64_t count, const float *x, float *out_low, float *out_high);
    /* to[i * channels + c] = from[c * stride + i] for all i < count. */
    void (*interleave)(int64_t count, int64_t channels, const uint8_t *from, int64_t stride,
                       uint8_t *to);
} tn_quantize_level;

extern const tn_quantize_level tn_quantize_baseline, tn_quantize_avx2, tn_quantize_avx512;

#endif

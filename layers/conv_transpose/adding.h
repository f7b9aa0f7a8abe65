/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row of an input adds to a row of the output of a transposed convolution. The loops are
 * adding_body.h, compiled once a processor level.
 */
#ifndef TN_LAYERS_CONV_TRANSPOSE_ADDING_H
#define TN_LAYERS_CONV_TRANSPOSE_ADDING_H

#include <stdint.h>

typedef struct tn_adding_level {
    /* to[i * stride] += from[i], i < count. */
    void (*apart)(int64_t count, int64_t stride, const float *from, float *to);
    /* to[2 * i] += first[i], to[2 * i + 1] += second[i]. */
    void (*pairs)(int64_t count, const float *first, const float *second, float *to);
    /* to[i] = value. */
    void (*fill)(int64_t count, float value, float *to);
} tn_adding_level;
extern const tn_adding_level tn_adding_baseline, tn_adding_avx2, tn_adding_avx512;

#endif

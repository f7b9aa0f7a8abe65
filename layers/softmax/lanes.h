/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and LogSoftmax of floats by vectors, compiled once a processor level from lanes_body.h:
 * along contiguous lanes, or down columns a vector of them at a time.
 */
#ifndef TN_LAYERS_SOFTMAX_LANES_H
#define TN_LAYERS_SOFTMAX_LANES_H

#include <stdint.h>

typedef struct tn_softmax_level {
    int64_t width; /* of a vector, in columns */
    /* One lane of `count` contiguous elements, at least one. */
    void (*lane)(int64_t count, const float *x, float *y);
    /* `columns` lanes beside each other, 1..width, each of `count` elements `stride` apart. */
    void (*columns)(int64_t count, int64_t stride, int64_t columns, const float *x, float *y);
    /* The same for LogSoftmax. */
    void (*log_lane)(int64_t count, const float *x, float *y);
    void (*log_columns)(int64_t count, int64_t stride, int64_t columns, const float *x, float *y);
} tn_softmax_level;

extern const tn_softmax_level tn_softmax_baseline, tn_softmax_avx2, tn_softmax_avx512;

#endif

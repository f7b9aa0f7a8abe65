/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and LogSoftmax of floats and doubles by vectors, compiled once a processor level from
 * lanes_body.h: along contiguous lanes, or down columns a vector of them at a time.
 */
#ifndef TN_LAYERS_SOFTMAX_LANES_H
#define TN_LAYERS_SOFTMAX_LANES_H

#include <stdint.h>

enum { TN_SOFTMAX_PLAIN, TN_SOFTMAX_LOG, TN_SOFTMAX_KINDS };

/* Of one type of numbers, by kind; y may be x. */
typedef struct tn_softmax_functions {
    int64_t width; /* of a vector, in columns */
    /* `rows` lanes, one behind the other, of `count` contiguous elements, at least one. */
    void (*rows[TN_SOFTMAX_KINDS])(int64_t rows, int64_t count, const void *x, void *y);
    /* `columns` lanes beside each other, 1..width, each of `count` elements `stride` apart. */
    void (*columns[TN_SOFTMAX_KINDS])(int64_t count, int64_t stride, int64_t columns, const void *x,
                                      void *y);
} tn_softmax_functions;

typedef struct tn_softmax_level {
    tn_softmax_functions narrow; /* floats */
    tn_softmax_functions wide;   /* doubles */
} tn_softmax_level;

extern const tn_softmax_level tn_softmax_baseline, tn_softmax_avx2, tn_softmax_avx512;

#endif

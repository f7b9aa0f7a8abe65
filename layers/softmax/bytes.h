/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax of 8-bit tensors that stand for floating-point values, compiled once a processor level
 * from bytes_body.h: along contiguous lanes, or down columns a vector of them at a time. A lane's
 * largest element is subtracted from the others, so that only 256 exponentials can occur and zero
 * points of the input do not matter. lanes.h does floats.
 */
#ifndef TN_LAYERS_SOFTMAX_BYTES_H
#define TN_LAYERS_SOFTMAX_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* exp(-scale * steps) for steps of 0..255, and for multiples of 8, 16 and 64 steps: a vector finds
 * each of the 256 by looking up two or three factors among as many as it has lanes. */
typedef struct tn_softmax_powers {
    float by_1[256], by_8[8], by_16[16], by_64[8];
} tn_softmax_powers;

typedef struct tn_softmax_bytes {
    const tn_softmax_powers *powers;
    uint8_t flip;    /* input: what makes its bytes unsigned ones of the same order: 128 or 0 */
    bool is_float;   /* output: 32-bit floats; else bytes: */
    float per_step;  /* 1 / scale; floats: 1 */
    int32_t zero;    /* zero point */
    float low, high; /* bounds of steps from there */
} tn_softmax_bytes;

typedef struct tn_softmax_bytes_level {
    int64_t width; /* of a vector, in columns */
    /* One lane of `count` contiguous elements, at least one. Bytes of `y` may be those of `x`. */
    void (*lane)(const tn_softmax_bytes *job, int64_t count, const uint8_t *x, void *y);
    /* `columns` lanes beside each other, 1..width, each of `count` elements `stride` apart. */
    void (*columns)(const tn_softmax_bytes *job, int64_t count, int64_t stride, int64_t columns,
                    const uint8_t *x, void *y);
} tn_softmax_bytes_level;

extern const tn_softmax_bytes_level tn_softmax_bytes_baseline, tn_softmax_bytes_avx2,
    tn_softmax_bytes_avx512;

#endif

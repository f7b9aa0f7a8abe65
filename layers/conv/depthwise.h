/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quantised depthwise convolution (one channel and one filter a group) on tensors whose
 * channels lie last: the lanes of a vector are channels, and each of a window's elements is
 * multiplied where it lies. The loop is depthwise_body.h, compiled once a processor level.
 */
#ifndef TN_LAYERS_CONV_DEPTHWISE_H
#define TN_LAYERS_CONV_DEPTHWISE_H

#include <tenon/kit/dot.h>

/* One vector of channels at a few output positions side by side. Of `end` all members but rows,
 * offsets, groups, weights and initial are as in tenon/kit/dot.h. */
typedef struct tn_depthwise_tile {
    tn_dot_tile end;
    const int8_t *x;
    int64_t first;          /* the corner of the first position's window, from x; may be outside */
    int64_t x_step;         /* between positions */
    const int64_t *offsets; /* of the elements that the window sees, from its corner */
    const int32_t *taps;    /* their numbers in the window */
    int64_t count;          /* of both */
    const int32_t *weights; /* taps of the window x lanes */
} tn_depthwise_tile;

typedef struct tn_depthwise_level {
    uint32_t lanes;
    void (*four)(const tn_depthwise_tile *tile); /* four positions */
    void (*one)(const tn_depthwise_tile *tile);
} tn_depthwise_level;

extern const tn_depthwise_level tn_depthwise_baseline, tn_depthwise_avx2, tn_depthwise_avx512vnni;

#endif

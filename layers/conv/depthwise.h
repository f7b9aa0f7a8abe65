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

/* Of 64 channels, in an order of the level's, what rows of windows of 3 x 3 are multiplied with. */
enum { TN_DEPTHWISE_CHANNELS = 64 };
typedef struct tn_depthwise_block {
    _Alignas(64) int32_t weights[3][TN_DEPTHWISE_CHANNELS];
    int32_t initial[TN_DEPTHWISE_CHANNELS];
    float scale[TN_DEPTHWISE_CHANNELS], bias[TN_DEPTHWISE_CHANNELS];
} tn_depthwise_block;

/* A row of the output of up to 64 channels, all channels of which have `step` bytes, in windows of
 * 3 x 3 without dilation; values are bytes within `low` and `high`, to which, once rounded, `zero`
 * is added. */
typedef struct tn_depthwise_row {
    const tn_depthwise_block *block;
    const int8_t *rows[3]; /* of the input, or of any memory where they are padding */
    bool is_inside[3];
    int64_t width, left, step, stride; /* left: columns of padding */
    int64_t count, channels;
    float low, high;
    int32_t zero;
    bool is_unsigned;
    int8_t *output;
    uint8_t *columns; /* scratch: tn_depthwise_row_bytes of them */
} tn_depthwise_row;
static inline int64_t tn_depthwise_row_bytes(int64_t count, int64_t stride) {
    return ((count - 1) * stride + 3) * TN_DEPTHWISE_CHANNELS * 4;
}

typedef struct tn_depthwise_level {
    uint32_t lanes;
    /* Null: the level has no such rows. `weights`, `terms` of sums (null: none), `scale` and `bias`
     * are of `channels`, a multiple of the lanes, of which the first 64 are read; of weights the
     * lowest bytes. */
    void (*read_block)(const int32_t *weights, const int32_t *terms, const float *scale,
                       const float *bias, int64_t channels, tn_depthwise_block *out_block);
    void (*row)(const tn_depthwise_row *row);
    void (*four)(const tn_depthwise_tile *tile); /* four positions */
    void (*one)(const tn_depthwise_tile *tile);
} tn_depthwise_level;

extern const tn_depthwise_level tn_depthwise_baseline, tn_depthwise_avx2, tn_depthwise_avx512vnni;

#endif

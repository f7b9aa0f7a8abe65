/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution on linear tensors (N, C, H, W) of 32-bit floats: the lanes of a vector are
 * neighbouring output positions, and a tile of P vectors times C output channels stays in registers
 * over all taps (input channel, kernel row, kernel column). Where the taps lie is a table of
 * offsets, so one loop serves every kernel size, stride and dilation; how the input is laid out for
 * it is direct_plan.c's business. The inner loop is direct_body.h, compiled once a processor level.
 * At its best with few channels or small images, where blocked libraries pad or starve.
 */
#ifndef TN_LAYERS_CONV_DIRECT_H
#define TN_LAYERS_CONV_DIRECT_H

#include <tenon/plugin.h>

#define TN_DIRECT_CHANNELS 8 /* the most output channels of a tile */
#define TN_DIRECT_VECTORS  8 /* the most vectors of positions of a tile */

typedef struct tn_direct_tile {
    const float *x;         /* first position */
    const int32_t *offsets; /* of each tap from x, in floats */
    int64_t taps;
    const float *weights; /* taps x channels */
    const float *bias;    /* channels */
    float *output;        /* first position of the first channel */
    int64_t channel_stride;
    const float *residual; /* same strides as the output; null: none */
    int64_t positions;     /* valid from here on: more than the tile's vectors hold, or fewer in the
                              last one */
    uint32_t activation;
    float alpha, beta;
} tn_direct_tile;

typedef void (*tn_direct_function)(const tn_direct_tile *tile);

typedef struct tn_direct_level {
    uint32_t lanes;
    uint32_t maximum_channels;                    /* of a tile at this level */
    uint32_t maximum_vectors[TN_DIRECT_CHANNELS]; /* for C = index + 1 */
    tn_direct_function functions[TN_DIRECT_CHANNELS][TN_DIRECT_VECTORS];
} tn_direct_level;

extern const tn_direct_level tn_direct_baseline, tn_direct_avx2, tn_direct_avx512;

#endif

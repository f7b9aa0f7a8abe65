/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels of 8-bit tensors that stand for floating-point values share where their products are
 * on tiles (tile_product.h): weights, floats of the node, are quantised a column when they are
 * packed; bias, residual, activation and the output's scale are what tenon/kit/dot_end.h says.
 */
#ifndef TN_KIT_INT8_TILE_SCALED_H
#define TN_KIT_INT8_TILE_SCALED_H

#include "kit/int8/tiles/tile_product.h"
#include <tenon/kit/dot_end.h>

/* `count` weights of a column, `stride` apart, as bytes and their scale. */
void tn_tile_quantise(const float *w, int64_t stride, int64_t count, int8_t *to, float *out_scale);

/* A node's biases: null, or one of each column, or the same one with a stride of 0; times
 * `factor`. */
typedef struct tn_tile_bias {
    const float *values;
    int64_t stride;
    float factor;
} tn_tile_bias;

/* An end and its tables, which begin at `tables` and have bytes as tn_tile_scaled_bytes. */
typedef struct tn_tile_scaled {
    tn_dot_end values;
    tn_tile_end end; /* points at `values` */
} tn_tile_scaled;

uint64_t tn_tile_scaled_bytes(const tn_tile_layout *layout);
/* `scales`: the columns'; sums are `scale` times as much. */
void tn_tile_scaled_make(const tn_call *call, const tn_float_epilogue *epilogue,
                         const tn_tile_layout *layout, const float *scales, float scale,
                         const tn_tile_bias *bias, void *tables, tn_tile_scaled *out_scaled);

#endif

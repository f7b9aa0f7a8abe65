/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QLinearResize: Resize of 8-bit integers that stand for floating-point values, by the weights of
 * linear or cubic interpolation. Of the weighted sum of what lies around a position
 *
 *     y = round(sum of weight * (x - x_zero) * (x_scale / y_scale)) + y_zero, saturated
 *
 * in double precision, axis by axis as Resize's reference does, halves to the even number. Networks
 * with QuantizeLinear and DequantizeLinear become such nodes by rewrites.c; what only selects
 * elements stays a Resize.
 */
#ifndef TN_LAYERS_RESIZE_QUANTIZED_RESIZE_H
#define TN_LAYERS_RESIZE_QUANTIZED_RESIZE_H

#include "kit/operator/layer.h"
#include "resize/resize.h"

/* Inputs behind Resize's own. */
enum { TN_RESIZE_X_SCALE = 4, TN_RESIZE_X_ZERO, TN_RESIZE_Y_SCALE, TN_RESIZE_Y_ZERO };

/* Signed bytes have 128 added, and so have their zero points: the `flip` is 0x80 then, else 0. */
typedef struct tn_resize_steps {
    uint8_t flip;
    int32_t x_zero, y_zero;
    double ratio; /* x_scale / y_scale */
} tn_resize_steps;

/* Checks a node and reads its plan. TN_ERROR_SHAPE, TN_ERROR_RANGE, TN_ERROR_STATE; a crop is
 * refused. */
tn_status tn_quantized_resize_read(tn_call *call, tn_resize_plan *out_plan);
/* Its scales and zero points. [called: run] */
void tn_quantized_resize_steps(const tn_call *call, tn_resize_steps *out_steps);

/* One axis: output i is the sum over t of weight[t * out + i] * input[index[t * out + i]]. */
typedef struct tn_quantized_resize_axis {
    int64_t in, out, taps;
    const int32_t *index;
    const double *weight;
} tn_quantized_resize_axis;

/* The loops of a processor level, which add in the reference's order without fused products. */
typedef struct tn_quantized_resize_level {
    /* to[i] = the sum over t of weights[t * weight_stride] * (rows[t][i] - x_zero), i < count. */
    void (*vertical)(const tn_resize_steps *steps, int64_t taps, const uint8_t *const *rows,
                     const double *weights, int64_t weight_stride, int64_t count, double *to);
    /* A row of positions of `lanes` elements each, beside each other, rounded to bytes. */
    void (*horizontal)(const tn_resize_steps *steps, const tn_quantized_resize_axis *axis,
                       int64_t lanes, const double *from, uint8_t *to);
} tn_quantized_resize_level;

extern const tn_quantized_resize_level tn_resize_bytes_baseline, tn_resize_bytes_avx2,
    tn_resize_bytes_avx512;

#endif

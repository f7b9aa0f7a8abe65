/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QLinearAveragePool and QLinearGlobalAveragePool of Tenon's domain (onnxruntime's, which have
 * another layout too, become DequantizeLinear, the pool and QuantizeLinear): means of windows of
 * 8-bit integers that stand for floating-point values. The sums are exact, and of them
 *
 *     y = round(sum of (x - x_zero) * x_scale / (elements * y_scale)) + y_zero, saturated
 *
 * in double precision, halves to the even number. Padding counts as x_zero where it counts. The
 * operators are operators.c, their kernels kernels.c with the loops of means_body.h; networks with
 * QuantizeLinear and DequantizeLinear become such nodes by rewrites.c.
 */
#ifndef TN_LAYERS_POOL_QUANTIZED_MEANS_H
#define TN_LAYERS_POOL_QUANTIZED_MEANS_H

#include "kit/operator/layer.h"
#include "pool/pool.h"

enum { TN_MEANS_X, TN_MEANS_X_SCALE, TN_MEANS_X_ZERO, TN_MEANS_Y_SCALE, TN_MEANS_Y_ZERO };

/* Signed bytes have 128 added, and so have their zero points: the `flip` is 0x80 then, else 0. */
typedef struct tn_means {
    tn_window window; /* a whole plane's for the global mean */
    uint8_t flip;
    int32_t x_zero, y_zero;
    double x_scale, y_scale;
} tn_means;

/* Checks a node and reads it. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_means_read(tn_call *call, tn_means *out_means);
/* Elements that a window's sum is divided by, `view` being what it sees. */
int64_t tn_means_divisor(const tn_call *call, const tn_window *window, const int64_t *position,
                         const tn_window_view *view);

/* The loops of a processor level. */
typedef struct tn_means_level {
    /* Adds `taps` vectors of `count` bytes, `step` bytes apart, to the sums. */
    void (*add)(uint8_t flip, int64_t taps, int64_t step, const uint8_t *from, int64_t count,
                int32_t *sums);
    /* The sum of `count` bytes that lie one after the other. */
    int32_t (*sum)(uint8_t flip, int64_t count, const uint8_t *from);
    /* Bytes of sums less `excess`, of windows of `divisor` elements. */
    void (*store)(const tn_means *means, int64_t count, const int32_t *sums, int32_t excess,
                  int64_t divisor, uint8_t *y);
} tn_means_level;

extern const tn_means_level tn_means_baseline, tn_means_avx2, tn_means_avx512;

#endif

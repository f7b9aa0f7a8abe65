/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of 8-bit integers that stand for floating-point values, which networks with
 * QuantizeLinear and DequantizeLinear become (rewrites.c): QLinearAdd of onnxruntime's domain, and
 * LookUp, a function of one element as a table.
 */
#ifndef TN_LAYERS_QUANTIZED_QUANTIZED_H
#define TN_LAYERS_QUANTIZED_QUANTIZED_H

#include "kit/operator/layer.h"
#include "quantized/rows.h"

/* QLinearAdd's inputs. */
enum {
    TN_SUM_A,
    TN_SUM_A_SCALE,
    TN_SUM_A_ZERO,
    TN_SUM_B,
    TN_SUM_B_SCALE,
    TN_SUM_B_ZERO,
    TN_SUM_Y_SCALE,
    TN_SUM_Y_ZERO
};

/* What a node computes, of its scales and zero points. */
void tn_quantized_sum_read(const tn_call *call, tn_quantized_sum *out_sum);

extern const tn_kernel *const tn_quantized_kernels[6];

enum { TN_QUANTIZED_REWRITES = 14 };
extern const tn_rewrite *const tn_quantized_rewrites[TN_QUANTIZED_REWRITES];

#endif

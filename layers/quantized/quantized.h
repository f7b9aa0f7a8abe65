/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of 8-bit integers that stand for floating-point values, which networks with
 * QuantizeLinear and DequantizeLinear become (rewrites.c): QLinearAdd and QLinearMul of
 * onnxruntime's domain, and LookUp, a function of one element as a table.
 */
#ifndef TN_LAYERS_QUANTIZED_QUANTIZED_H
#define TN_LAYERS_QUANTIZED_QUANTIZED_H

#include "kit/operator/layer.h"
#include "quantized/rows.h"

/* Inputs of QLinearAdd and QLinearMul. */
enum {
    TN_PAIR_A,
    TN_PAIR_A_SCALE,
    TN_PAIR_A_ZERO,
    TN_PAIR_B,
    TN_PAIR_B_SCALE,
    TN_PAIR_B_ZERO,
    TN_PAIR_Y_SCALE,
    TN_PAIR_Y_ZERO
};

/* What a node computes, of its scales and zero points. */
void tn_quantized_pair_read(const tn_call *call, tn_quantized_pair *out_pair);
/* Whether it is QLinearMul. */
bool tn_quantized_is_product(const tn_call *call);

extern const tn_kernel *const tn_quantized_kernels[3];

enum { TN_QUANTIZED_REWRITES = 46 };
extern const tn_rewrite *const tn_quantized_rewrites[TN_QUANTIZED_REWRITES];

#endif

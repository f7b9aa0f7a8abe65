/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConvInteger and QLinearConv: the convolution of 8-bit integers less their zero points, as sums of
 * 32 bits or as 8-bit integers of another scale. Padding is the zero point of X. QLinearConvAdd is
 * QLinearConv and the addition of another tensor behind it. What they and their kernels share.
 */
#ifndef TN_LAYERS_CONV_INTEGER_INTEGER_H
#define TN_LAYERS_CONV_INTEGER_INTEGER_H

#include "conv/conv.h"

enum { TN_CONV_NO_INPUT = 14 }; /* more than any has */

typedef struct tn_conv_inputs {
    uint32_t w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias; /* X is input 0 */
    uint32_t added, added_scale, added_zero, sum_scale, sum_zero;        /* of QLinearConvAdd */
} tn_conv_inputs;

/* Which input is what, by the operator. */
static inline const tn_conv_inputs *tn_conv_inputs_of(const tn_call *call) {
    return call->op->user;
}

/* Checks a node and resolves its window. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_conv_integer_read(tn_call *call, tn_window *out_window);

/* The zero point of a filter, or of the whole tensor where it has one element; 0: absent. */
int32_t tn_conv_integer_zero(const tn_call *call, uint32_t input, int64_t filter);
/* What filters' sums are multiplied by, in 32-bit floats: x_scale * w_scale / y_scale. */
void tn_conv_integer_factors(const tn_call *call, int64_t first, int64_t count, float *out_factors);
float tn_conv_integer_factor(const tn_call *call, int64_t filter);
/* What a filter's sums begin at. */
int32_t tn_conv_integer_bias(const tn_call *call, int64_t filter);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMulInteger, QLinearMatMul and onnxruntime's MatMulIntegerToFloat: the product of matrices of
 * 8-bit integers less their zero points, as sums of 32 bits, as 8-bit integers of another scale, or
 * as floats. What they and their kernels share: which input is what, and which scale and zero point
 * serves which row and column.
 */
#ifndef TN_LAYERS_MAT_MUL_INTEGER_H
#define TN_LAYERS_MAT_MUL_INTEGER_H

#include "kit/operator/layer.h"
#include "mat_mul/mat_mul.h"

enum { TN_NO_INPUT = 8 }; /* more than any has */

typedef struct tn_integer_inputs {
    uint32_t b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero, bias; /* A is input 0 */
} tn_integer_inputs;
/* What becomes of the sums: without a scale of A they stay, without one of the output they become
 * floats. */

/* A node's `user`. */
extern const tn_integer_inputs tn_mat_mul_integer_inputs, tn_q_linear_mat_mul_inputs,
    tn_mat_mul_to_float_inputs;
static inline const tn_integer_inputs *tn_integer_inputs_of(const tn_call *call) {
    return call->op->user;
}

/* Checks the shapes of a node. TN_ERROR_SHAPE. */
tn_status tn_integer_mat_mul_read(tn_call *call, tn_mat_mul_sizes *out_sizes);

/* The element that serves row or column `index`, of `count`, of matrix number `matrix`: the only
 * one, the one of a vector, or that of a tensor with the matrices' axes. */
int64_t tn_integer_offset(const tn_tensor *tensor, int64_t matrix, int64_t count, int64_t index);
/* The zero point there, 0 where the input is absent, and the scale, of 32 bits. */
int32_t tn_integer_zero(const tn_call *call, uint32_t input, int64_t matrix, int64_t count,
                        int64_t index);
float tn_integer_scale(const tn_call *call, uint32_t input, int64_t matrix, int64_t count,
                       int64_t index);

/* A sum as an 8-bit integer: rounded to nearest even after a multiplication in 32-bit floats. */
static inline float tn_integer_factor(float a_scale, float b_scale, float y_scale) {
    const float product = a_scale * b_scale;
    return product / y_scale;
}

extern const tn_operator tn_mat_mul_integer_10, tn_q_linear_mat_mul_10, tn_q_linear_mat_mul_21,
    tn_mat_mul_to_float_1;
TN_LEVEL_KERNELS_EXTERN(tn_mat_mul_integer);
TN_LEVEL_KERNELS_EXTERN(tn_q_linear_mat_mul);
TN_LEVEL_KERNELS_EXTERN(tn_mat_mul_to_float);
#if defined(__x86_64__)
/* integer_tiles.c */
TN_LEVEL_KERNELS_EXTERN(tn_mat_mul_integer_tiles);
TN_LEVEL_KERNELS_EXTERN(tn_q_linear_mat_mul_tiles);
TN_LEVEL_KERNELS_EXTERN(tn_mat_mul_to_float_tiles);
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The activations that ONNX names for recurrent layers, in double precision: one text for the
 * processor and, compiled by nvcc, for the GPU. */
#ifndef TN_KIT_MATH_RECURRENT_FUNCTION_H
#define TN_KIT_MATH_RECURRENT_FUNCTION_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TN_RECURRENT_FUNCTION static __host__ __device__ __forceinline__
#else
#define TN_RECURRENT_FUNCTION static inline
#endif

enum {
    TN_RECURRENT_SIGMOID,
    TN_RECURRENT_TANH,
    TN_RECURRENT_RELU,
    TN_RECURRENT_AFFINE,
    TN_RECURRENT_LEAKY_RELU,
    TN_RECURRENT_THRESHOLDED_RELU,
    TN_RECURRENT_SCALED_TANH,
    TN_RECURRENT_HARD_SIGMOID,
    TN_RECURRENT_ELU,
    TN_RECURRENT_SOFTSIGN,
    TN_RECURRENT_SOFTPLUS
};

TN_RECURRENT_FUNCTION double tn_recurrent_function(uint32_t kind, double alpha, double beta,
                                                   double x) {
    switch (kind) {
    case TN_RECURRENT_SIGMOID:
        return 1 / (1 + exp(-x));
    case TN_RECURRENT_TANH:
        return tanh(x);
    case TN_RECURRENT_RELU:
        return x < 0 ? 0 : x;
    case TN_RECURRENT_AFFINE:
        return alpha * x + beta;
    case TN_RECURRENT_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case TN_RECURRENT_THRESHOLDED_RELU:
        return x > alpha ? x : 0;
    case TN_RECURRENT_SCALED_TANH:
        return alpha * tanh(beta * x);
    case TN_RECURRENT_HARD_SIGMOID:
        x = alpha * x + beta;
        return x < 0 ? 0 : x > 1 ? 1 : x;
    case TN_RECURRENT_ELU:
        return x < 0 ? alpha * expm1(x) : x;
    case TN_RECURRENT_SOFTSIGN:
        return x / (1 + fabs(x));
    default:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    }
}

#endif

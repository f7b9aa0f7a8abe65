/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activations that kernels do while they store: those of plain arithmetic. Kernels list
 * TN_SIMPLE_ACTIVATIONS in `absorbs` (tenon/kit/epilogue.h); the builder then never gives them
 * another. Other functions of one element are in tenon/kit/vector_math.h and tenon/kit/rows.h.
 */
#ifndef TENON_KIT_ACTIVATION_H
#define TENON_KIT_ACTIVATION_H

#include <tenon/kit/vector.h>
#include <tenon/plugin.h>

#define TN_SIMPLE_ACTIVATIONS "relu|leaky_relu|clip|hard_sigmoid|hard_swish"

/* A TN_ACTIVATION_ of TN_SIMPLE_ACTIVATIONS with its parameters (tenon/plugin.h), lane by lane; 0
 * or another one: x as it is. NaN stays NaN. */
TN_INLINE tn_vector tn_activation_vector(uint32_t activation, float alpha, float beta,
                                         tn_vector x) {
    const tn_vector zero = {0}, one = tn_vector_all(1.0f);
    switch (activation) {
    case TN_ACTIVATION_RELU:
        return tn_vector_max(x, zero);
    case TN_ACTIVATION_LEAKY_RELU:
        return tn_vector_select((tn_vector_bits)(x < zero), x * alpha, x);
    case TN_ACTIVATION_CLIP:
        return tn_vector_min(tn_vector_max(x, tn_vector_all(alpha)), tn_vector_all(beta));
    case TN_ACTIVATION_HARD_SIGMOID:
        return tn_vector_min(tn_vector_max(x * alpha + beta, zero), one);
    case TN_ACTIVATION_HARD_SWISH:
        return x * tn_vector_min(tn_vector_max(x * (1.0f / 6.0f) + 0.5f, zero), one);
    default:
        return x;
    }
}

#endif

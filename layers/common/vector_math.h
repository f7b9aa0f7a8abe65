/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of vectors of floats (vector.h): exponential, hyperbolic tangent, error function and
 * what is made of them, each within a few units in the last place. Polynomials are minimax fits
 * (least squares, reweighted after Lawson) to the functions in double precision; the exponential's
 * argument is reduced by multiples of ln 2 in two parts after Cody and Waite, "Software Manual for
 * the Elementary Functions" (1980).
 */
#ifndef TN_LAYERS_VECTOR_MATH_H
#define TN_LAYERS_VECTOR_MATH_H

#include "common/vector.h"

TN_INLINE tn_vector tn_vector_absolute(tn_vector x) {
    return (tn_vector)((tn_vector_bits)x & INT32_MAX);
}
/* The magnitude (not negative) with the sign of `sign`. */
TN_INLINE tn_vector tn_vector_with_sign(tn_vector magnitude, tn_vector sign) {
    return (tn_vector)((tn_vector_bits)magnitude | ((tn_vector_bits)sign & INT32_MIN));
}
/* 2 to the power of n, -126 <= n <= 127. */
TN_INLINE tn_vector tn_vector_power_of_two(tn_vector_bits n) {
    return (tn_vector)((n + 127) << 23);
}

/* Infinite above 88.7, zero below -103.3; NaN stays NaN. */
TN_INLINE tn_vector tn_vector_exp(tn_vector x) {
    const float magic = 0x1.8p23f; /* added, it rounds to an integer in the lowest bits */
    x = tn_vector_min(tn_vector_max(x, tn_vector_all(-110.0f)), tn_vector_all(100.0f));
    const tn_vector shifted = x * 0x1.715476p0f + magic;
    const tn_vector n = shifted - magic;
    const tn_vector r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;
    tn_vector p = r * 1.39505e-3f + 8.36889e-3f;
    p = p * r + 4.166621e-2f;
    p = p * r + 1.6666519e-1f;
    p = p * r + 0.5f;
    p = (p * r) * r + r + 1.0f;
    const tn_vector_bits power = (tn_vector_bits)shifted - (tn_vector_bits)tn_vector_all(magic);
    const tn_vector_bits half = power >> 1; /* in two steps: the ends have no single power */
    return p * tn_vector_power_of_two(half) * tn_vector_power_of_two(power - half);
}

TN_INLINE tn_vector tn_vector_sigmoid(tn_vector x) {
    return 1.0f / (1.0f + tn_vector_exp(-x));
}

/* Near zero by a polynomial, elsewhere (1 - t) / (1 + t) with t = exp(-2 |x|). */
TN_INLINE tn_vector tn_vector_tanh(tn_vector x) {
    const tn_vector magnitude = tn_vector_absolute(x), square = x * x;
    const tn_vector t = tn_vector_exp(magnitude * -2.0f);
    const tn_vector far = tn_vector_with_sign((1.0f - t) / (1.0f + t), x);
    tn_vector p = square * -5.71704e-3f + 2.065058e-2f;
    p = p * square + -5.37435e-2f;
    p = p * square + 1.3331491e-1f;
    p = p * square + -3.3333284e-1f;
    const tn_vector near = x + x * square * p;
    return tn_vector_select((tn_vector_bits)(magnitude < 0.625f), near, far);
}

/* 1 - erf(x) for x >= 0, as exp(-x^2) t p(t) with t = 1 / (1 + 0.4 x). Keeps its digits up to
 * x = 9.2, where it runs out of normal numbers. */
TN_INLINE tn_vector tn_vector_erfc_positive(tn_vector x) {
    const tn_vector t = 1.0f / (1.0f + 0.4f * x);
    tn_vector p = t * -2.9206154e-2f + 1.9590476e-1f;
    p = p * t + -4.9385308e-1f;
    p = p * t + 5.408229e-1f;
    p = p * t + -2.7886739e-1f;
    p = p * t + 2.6911494e-1f;
    p = p * t + 1.3069953e-1f;
    p = p * t + 2.1470065e-1f;
    p = p * t + 2.2497829e-1f;
    p = p * t + 2.2570556e-1f;
    return tn_vector_exp(x * -x) * (t * p);
}

TN_INLINE tn_vector tn_vector_erf(tn_vector x) {
    const tn_vector magnitude = tn_vector_absolute(x), square = x * x;
    const tn_vector far = tn_vector_with_sign(1.0f - tn_vector_erfc_positive(magnitude), x);
    tn_vector p = square * -6.7610956e-4f + 5.1159817e-3f;
    p = p * square + -2.6835435e-2f;
    p = p * square + 1.1283393e-1f;
    p = p * square + -3.761262e-1f;
    p = p * square + 1.1283792f;
    return tn_vector_select((tn_vector_bits)(magnitude < 0.75f), x * p, far);
}

/* x P(X < x) for a standard normal X: far below zero the small probability keeps its digits. */
TN_INLINE tn_vector tn_vector_gelu_erf(tn_vector x) {
    const tn_vector tail = 0.5f * tn_vector_erfc_positive(tn_vector_absolute(x) * 0x1.6a09e6p-1f);
    return x * tn_vector_select((tn_vector_bits)(x < 0.0f), tail, 1.0f - tail);
}

/* x (1 + tanh(u)) / 2 = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3). */
TN_INLINE tn_vector tn_vector_gelu_tanh(tn_vector x) {
    return x * tn_vector_sigmoid(x * (1.5957691f + 0.071354814f * (x * x)));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of vectors of floats (vector.h): exponential, logarithm, hyperbolic tangent, error
 * function and what is made of them, each within a few units in the last place. Polynomials are
 * minimax fits (least squares, reweighted after Lawson) to the functions in double precision; the
 * exponential's argument is reduced by multiples of ln 2 in two parts after Cody and Waite,
 * "Software Manual for the Elementary Functions" (1980).
 */
#ifndef TENON_KIT_VECTOR_MATH_H
#define TENON_KIT_VECTOR_MATH_H

#include <tenon/kit/vector.h>

TN_INLINE tn_vector tn_vector_absolute(tn_vector x) {
    return (tn_vector)((tn_vector_bits)x & INT32_MAX);
}
/* The magnitude (not negative) with the sign of `sign`. */
TN_INLINE tn_vector tn_vector_with_sign(tn_vector magnitude, tn_vector sign) {
    return (tn_vector)((tn_vector_bits)magnitude | ((tn_vector_bits)sign & INT32_MIN));
}
/* 2 to the power of n, -126 <= n <= 127. */
TN_INLINE tn_vector tn_vector_power_of_two(tn_vector_bits n) {
    return (tn_vector)((tn_vector_words)(n + 127) << 23);
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
#if TN_VECTOR_BYTES == 64
    return (tn_vector)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    const tn_vector_bits power = (tn_vector_bits)shifted - (tn_vector_bits)tn_vector_all(magic);
    const tn_vector_bits half = power >> 1; /* in two steps: the ends have no single power */
    return p * tn_vector_power_of_two(half) * tn_vector_power_of_two(power - half);
#endif
}

TN_INLINE tn_vector tn_vector_sigmoid(tn_vector x) {
    return 1.0f / (1.0f + tn_vector_exp(-x));
}

/* tanh(x) as a numerator, which is returned, and a denominator, which is positive: x P(x^2) /
 * Q(x^2), fitted to the least relative error (7e-9) for |x| < 9.05, where 1 is nearest from there
 * on. NaN stays NaN. */
TN_INLINE tn_vector tn_vector_tanh_fraction(tn_vector x, tn_vector *out_denominator) {
    x = tn_vector_min(tn_vector_max(x, tn_vector_all(-9.05f)), tn_vector_all(9.05f));
    const tn_vector square = x * x;
    tn_vector p = square * -8.35764427e-14f + 5.22764089e-11f;
    p = p * square + -2.01221297e-8f;
    p = p * square + 1.11291574e-5f;
    p = p * square + 3.10156541e-3f;
    p = p * square + 1.30818740e-1f;
    p = p * square + 1.0f;
    tn_vector q = square * 2.54265586e-4f + 2.44856700e-2f;
    q = q * square + 4.64152008e-1f;
    *out_denominator = q * square + 1.0f;
    return x * p;
}

/* Within 3e-7, and never beyond 1. */
TN_INLINE tn_vector tn_vector_tanh(tn_vector x) {
    tn_vector q;
    const tn_vector p = tn_vector_tanh_fraction(x, &q);
    return tn_vector_min(tn_vector_max(p / q, tn_vector_all(-1.0f)), tn_vector_all(1.0f));
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

TN_INLINE tn_vector tn_vector_erfc(tn_vector x) {
    const tn_vector tail = tn_vector_erfc_positive(tn_vector_absolute(x));
    return tn_vector_select((tn_vector_bits)(x < 0.0f), 2.0f - tail, tail);
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

/* exp(x) - 1 = 2 t / (1 - t) with t = tanh(x / 2), for x <= 0: keeps its digits near zero. */
TN_INLINE tn_vector tn_vector_expm1(tn_vector x) {
    const tn_vector t = tn_vector_tanh(x * 0.5f);
    return 2.0f * t / (1.0f - t);
}

/* NaN below zero. The number is m 2^e with m about 1; log(m) = 2 atanh(s), s = (m - 1) / (m + 1),
 * by the first terms of the series. */
TN_INLINE tn_vector tn_vector_log(tn_vector x) {
    const int32_t root = 0x3f3504f3; /* the bits of sqrt(1/2) */
    const tn_vector_bits is_small = (tn_vector_bits)(x < 0x1p-126f);
    const tn_vector_words words = (tn_vector_words)tn_vector_select(is_small, x * 0x1p23f, x);
    const tn_vector_bits bits = (tn_vector_bits)(words - (uint32_t)root);
    const tn_vector_bits power = (bits >> 23) - (is_small & 23);
    const tn_vector e = __builtin_convertvector(power, tn_vector);
    const tn_vector m = (tn_vector)((bits & 0x7fffff) + root);
    const tn_vector s = (m - 1.0f) / (m + 1.0f), z = s * s;
    tn_vector p = z * 0x1.c71c72p-3f + 0x1.24924ap-2f;
    p = p * z + 0x1.99999ap-2f;
    p = p * z + 0x1.555556p-1f;
    const tn_vector low = e * 0x1.0bfbe8p-15f + s * z * p;
    tn_vector y = e * 0x1.62ep-1f + (2.0f * s + low);
    const tn_vector infinity = tn_vector_all(__builtin_inff());
    y = tn_vector_select((tn_vector_bits)(x == infinity), infinity, y);
    y = tn_vector_select((tn_vector_bits)(x == 0.0f), -infinity, y);
    return tn_vector_select((tn_vector_bits)(x >= 0.0f), y, tn_vector_all(__builtin_nanf("")));
}

/* u = 1 + x is rounded; that log(u) / (u - 1) changes little beside it mends what was lost.
 * Source: W. Kahan, in D. Goldberg, "What every computer scientist should know about
 * floating-point arithmetic", 1991, theorem 4. */
TN_INLINE tn_vector tn_vector_log1p(tn_vector x) {
    const tn_vector u = 1.0f + x, rest = u - 1.0f;
    const tn_vector y = tn_vector_log(u) * (x / rest);
    const tn_vector infinity = tn_vector_all(__builtin_inff());
    return tn_vector_select((tn_vector_bits)(rest == 0.0f) | (tn_vector_bits)(x == infinity), x,
                            tn_vector_select((tn_vector_bits)(x == -1.0f), -infinity, y));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + t), t = exp(-|x|); log(1 + t) = 2 atanh(s),
 * s = t / (2 + t) <= 1/3, by the first terms of the series. NaN stays NaN. */
TN_INLINE tn_vector tn_vector_softplus(tn_vector x) {
    const tn_vector t = tn_vector_exp(-tn_vector_absolute(x));
    const tn_vector s = t / (2.0f + t), z = s * s;
    tn_vector p = z * 0x1.111112p-3f + 0x1.3b13b2p-3f;
    p = p * z + 0x1.745d18p-3f;
    p = p * z + 0x1.c71c72p-3f;
    p = p * z + 0x1.24924ap-2f;
    p = p * z + 0x1.99999ap-2f;
    p = p * z + 0x1.555556p-1f;
    return tn_vector_max(x, tn_vector_all(0.0f)) + (2.0f * s + s * z * p);
}

/* x tanh(log(1 + exp(x))) = x n / (n + 2), n = w (w + 2), w = exp(x). */
TN_INLINE tn_vector tn_vector_mish(tn_vector x) {
    const tn_vector w = tn_vector_exp(tn_vector_min(x, tn_vector_all(20.0f)));
    const tn_vector n = w * (w + 2.0f);
    return x * (n / (n + 2.0f));
}

#endif

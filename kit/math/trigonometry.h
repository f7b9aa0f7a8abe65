/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trigonometric and hyperbolic functions of vectors of floats and their inverses, each within four
 * units in the last place: for headers that are compiled once a processor level. Polynomials are
 * minimax fits as those of tenon/kit/vector_math.h. The argument of sine, cosine and tangent is
 * reduced by multiples of pi / 2 in doubles, in two parts after Cody and Waite, "Software Manual
 * for the Elementary Functions" (1980); beyond TN_ANGLE_LIMIT the functions of libm reduce it.
 */
#ifndef TN_KIT_MATH_TRIGONOMETRY_H
#define TN_KIT_MATH_TRIGONOMETRY_H

#include "kit/math/wide_math.h"
#include <tenon/kit/vector_math.h>

#include <math.h>
#include <stdbool.h>

/* Below it the product of an angle's multiple of pi / 2, 20 bits, by the first part, 31 bits, is
 * exact. */
#define TN_ANGLE_LIMIT 0x1p20f

TN_INLINE tn_vector tn_vector_square_root(tn_vector x) {
    for (int i = 0; i < TN_LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
}

/* Whether a mask is set in all lanes. */
TN_INLINE bool tn_vector_are_all(tn_vector_bits mask) {
#if TN_VECTOR_BYTES == 64
    return _mm512_movepi32_mask((__m512i)mask) == 0xffff;
#elif TN_VECTOR_BYTES == 32
    return _mm256_movemask_ps((__m256)mask) == 0xff;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)mask) == 0xf;
#else
    return (mask[0] & mask[1] & mask[2] & mask[3]) != 0;
#endif
}

/* ----------------------------------------------------------------------------------------------
 * angles */

/* The elements of a vector's halves. */
#if TN_LANES == 16
#define TN_LOWER 0, 1, 2, 3, 4, 5, 6, 7
#define TN_UPPER 8, 9, 10, 11, 12, 13, 14, 15
#elif TN_LANES == 8
#define TN_LOWER 0, 1, 2, 3
#define TN_UPPER 4, 5, 6, 7
#else
#define TN_LOWER 0, 1
#define TN_UPPER 2, 3
#endif

/* Half of a vector's angles: x = n pi / 2 + r, |r| <= pi / 4. */
TN_INLINE void tn_half_angle(tn_wide_floats x, tn_wide_floats *out_n, tn_wide_floats *out_r) {
    const tn_wide angle = tn_wide_of_floats(x);
    const tn_wide n = (angle * 0x1.45f306dc9c883p-1 + TN_WIDE_MAGIC) - TN_WIDE_MAGIC;
    const tn_wide r = (angle - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34;
    *out_n = __builtin_convertvector(n, tn_wide_floats);
    *out_r = __builtin_convertvector(r, tn_wide_floats);
}

/* Sine and cosine of the rest r of an angle; returns the quadrant n in the lowest bits. */
TN_INLINE tn_vector_bits tn_vector_angle(tn_vector x, tn_vector *out_sine, tn_vector *out_cosine) {
    tn_wide_floats n[2], rests[2];
    tn_half_angle(__builtin_shufflevector(x, x, TN_LOWER), &n[0], &rests[0]);
    tn_half_angle(__builtin_shufflevector(x, x, TN_UPPER), &n[1], &rests[1]);
    const tn_vector quadrant = __builtin_shufflevector(n[0], n[1], TN_LOWER, TN_UPPER);
    const tn_vector r = __builtin_shufflevector(rests[0], rests[1], TN_LOWER, TN_UPPER);
    const tn_vector z = r * r;
    const tn_vector sine = (z * -1.9514632e-4f + 8.3321556e-3f) * z + -1.6666655e-1f;
    const tn_vector cosine = (z * 2.4432413e-5f + -1.3887309e-3f) * z + 4.1666646e-2f;
    *out_sine = r + r * z * sine;
    *out_cosine = 1.0f + z * (z * cosine - 0.5f);
    return (tn_vector_bits)(quadrant + 0x1.8p23f);
}

/* Lanes whose lowest bit is set. */
TN_INLINE tn_vector_bits tn_vector_odd(tn_vector_bits n) {
    return -(n & 1);
}

TN_INLINE tn_vector tn_vector_sin(tn_vector x) {
    tn_vector sine, cosine;
    const tn_vector_bits n = tn_vector_angle(x, &sine, &cosine);
    const tn_vector y = tn_vector_select(tn_vector_odd(n), cosine, sine);
    const tn_vector_bits sign = (tn_vector_bits)((tn_vector_words)(n & 2) << 30);
    /* of -0, which the reduction loses, and of zeros alone, whose sine is x */
    return tn_vector_select((tn_vector_bits)(x == 0.0f), x, (tn_vector)((tn_vector_bits)y ^ sign));
}

TN_INLINE tn_vector tn_vector_cos(tn_vector x) {
    tn_vector sine, cosine;
    const tn_vector_bits n = tn_vector_angle(x, &sine, &cosine);
    const tn_vector y = tn_vector_select(tn_vector_odd(n), sine, cosine);
    return (tn_vector)((tn_vector_bits)y ^ (tn_vector_bits)((tn_vector_words)((n + 1) & 2) << 30));
}

/* Of an odd quadrant -1 / tan(r). */
TN_INLINE tn_vector tn_vector_tan(tn_vector x) {
    tn_vector sine, cosine;
    const tn_vector_bits odd = tn_vector_odd(tn_vector_angle(x, &sine, &cosine));
    const tn_vector y = tn_vector_select(odd, -cosine, sine) / tn_vector_select(odd, sine, cosine);
    return tn_vector_select((tn_vector_bits)(x == 0.0f), x, y);
}

/* ----------------------------------------------------------------------------------------------
 * inverses: from here on infinities and NaN are what the function of libm has */

/* atan(t) = k pi / 4 + atan((t - tan(k pi / 4)) / (1 + t tan(k pi / 4))), k of 0, 1, 2. */
TN_INLINE tn_vector tn_vector_atan(tn_vector x) {
    const tn_vector t = tn_vector_absolute(x);
    const tn_vector_bits is_middle = (tn_vector_bits)(t > 0x1.a8279ap-2f); /* tan(pi / 8) */
    const tn_vector_bits is_high = (tn_vector_bits)(t > 0x1.3504f4p+1f);   /* tan(3 pi / 8) */
    const tn_vector one = tn_vector_all(1.0f), zero = tn_vector_all(0.0f);
    const tn_vector above =
        tn_vector_select(is_high, -one, tn_vector_select(is_middle, t - 1.0f, t));
    const tn_vector below =
        tn_vector_select(is_high, t, tn_vector_select(is_middle, t + 1.0f, one));
    const tn_vector r = above / below, z = r * r;
    const tn_vector high = tn_vector_select(
        is_high, tn_vector_all(0x1.921fb6p+0f),
        tn_vector_select(is_middle, tn_vector_all(0x1.921fb6p-1f), zero)); /* k pi / 4 */
    tn_vector p = z * 8.0554470e-2f + -1.3878453e-1f;
    p = p * z + 1.9977808e-1f;
    p = p * z + -3.3332953e-1f;
    return tn_vector_with_sign(high + (high * -0x1.de12cap-26f + (r * z * p + r)), x);
}

/* (asin(x) - x) / x for x^2 = z <= 1/4. */
TN_INLINE tn_vector tn_vector_asin_part(tn_vector z) {
    tn_vector p = z * 4.2218566e-2f + 2.4147600e-2f;
    p = p * z + 4.5477100e-2f;
    p = p * z + 7.4952416e-2f;
    return (p * z + 1.6666754e-1f) * z;
}

/* asin(t) of t <= 1/2; above: pi / 2 - 2 asin(s), s = sqrt((1 - t) / 2). */
TN_INLINE tn_vector tn_vector_asin(tn_vector x) {
    const tn_vector t = tn_vector_absolute(x);
    const tn_vector_bits is_high = (tn_vector_bits)(t > 0.5f);
    const tn_vector z = tn_vector_select(is_high, (1.0f - t) * 0.5f, t * t);
    const tn_vector s = tn_vector_select(is_high, tn_vector_square_root(z), t);
    const tn_vector y = s + s * tn_vector_asin_part(z);
    const tn_vector far = 0x1.921fb6p+0f - (2.0f * y + 0x1.777a5cp-25f);
    return tn_vector_with_sign(tn_vector_select(is_high, far, y), x);
}

/* 2 asin(s) of x above 1/2, pi - 2 asin(s) below -1/2; else pi / 2 - asin(x). */
TN_INLINE tn_vector tn_vector_acos(tn_vector x) {
    const tn_vector t = tn_vector_absolute(x);
    const tn_vector_bits is_far = (tn_vector_bits)(t > 0.5f);
    const tn_vector z = tn_vector_select(is_far, (1.0f - t) * 0.5f, x * x);
    const tn_vector s = tn_vector_select(is_far, tn_vector_square_root(z), x);
    const tn_vector y = s + s * tn_vector_asin_part(z);
    const tn_vector near = 0x1.921fb6p+0f - (y + 0x1.777a5cp-25f);
    const tn_vector far = tn_vector_select((tn_vector_bits)(x < 0.0f),
                                           0x1.921fb6p+1f - (2.0f * y + 0x1.777a5cp-24f), 2.0f * y);
    return tn_vector_select(is_far, far, near);
}

/* ----------------------------------------------------------------------------------------------
 * hyperbolic functions and their inverses */

/* exp(t) / 2 up to the largest float. t - c is exact for t of 1 to 128; the factor is exp(c) / 2.
 */
TN_INLINE tn_vector tn_vector_half_exp(tn_vector t) {
    return tn_vector_exp(t - 0x1.62e6p-1f) * 0x1.0000e8p+0f;
}

TN_INLINE tn_vector tn_vector_cosh(tn_vector x) {
    const tn_vector half = tn_vector_half_exp(tn_vector_absolute(x));
    return half + 0.25f / half;
}

TN_INLINE tn_vector tn_vector_sinh(tn_vector x) {
    const tn_vector t = tn_vector_absolute(x), z = x * x, half = tn_vector_half_exp(t);
    tn_vector p = z * 2.8169513e-6f + 1.9836159e-4f;
    p = p * z + 8.3333496e-3f;
    p = p * z + 1.6666667e-1f;
    return tn_vector_select((tn_vector_bits)(t < 1.0f), x + x * z * p,
                            tn_vector_with_sign(half - 0.25f / half, x));
}

/* log(t + sqrt(t^2 + 1)); where t^2 + 1 would be infinite, or t^2, log(t) + log(2). */
TN_INLINE tn_vector tn_vector_asinh(tn_vector x) {
    const tn_vector t = tn_vector_absolute(x), z = t * t;
    const tn_vector_bits is_large = (tn_vector_bits)(t > 0x1p13f);
    const tn_vector log = tn_vector_log1p(
        tn_vector_select(is_large, t - 1.0f, t + z / (1.0f + tn_vector_square_root(z + 1.0f))));
    return tn_vector_with_sign(tn_vector_select(is_large, log + 0x1.62e43p-1f, log), x);
}

/* log(x + sqrt(x^2 - 1)) by t = x - 1, likewise. */
TN_INLINE tn_vector tn_vector_acosh(tn_vector x) {
    const tn_vector t = x - 1.0f;
    const tn_vector_bits is_large = (tn_vector_bits)(x > 0x1p13f);
    const tn_vector log =
        tn_vector_log1p(tn_vector_select(is_large, t, t + tn_vector_square_root(t * (t + 2.0f))));
    const tn_vector y = tn_vector_select(is_large, log + 0x1.62e43p-1f, log);
    return tn_vector_select((tn_vector_bits)(x >= 1.0f), y, tn_vector_all(__builtin_nanf("")));
}

TN_INLINE tn_vector tn_vector_atanh(tn_vector x) {
    const tn_vector t = tn_vector_absolute(x);
    return tn_vector_with_sign(0.5f * tn_vector_log1p(2.0f * t / (1.0f - t)), x);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of doubles, as wide as those of tenon/kit/vector.h, and functions of them, each within a
 * few units in the last place: for headers that are compiled once a processor level. The
 * exponential's argument is reduced by multiples of ln 2 in two parts after Cody and Waite,
 * "Software Manual for the Elementary Functions" (1980).
 */
#ifndef TN_KIT_MATH_WIDE_MATH_H
#define TN_KIT_MATH_WIDE_MATH_H

#include <tenon/kit/vector.h>

#define TN_WIDE_LANES (TN_VECTOR_BYTES / 8)

typedef double tn_wide __attribute__((vector_size(TN_VECTOR_BYTES), may_alias));
typedef int64_t tn_wide_bits __attribute__((vector_size(TN_VECTOR_BYTES), may_alias));
typedef uint64_t tn_wide_words /* the same, for shifts to the right and sums that wrap around */
    __attribute__((vector_size(TN_VECTOR_BYTES), may_alias));
typedef double tn_wide_unaligned
    __attribute__((vector_size(TN_VECTOR_BYTES), aligned(8), may_alias));
typedef float tn_wide_floats __attribute__((vector_size(TN_VECTOR_BYTES / 2)));

/* As the functions of tn_vector have it. */
TN_INLINE tn_wide tn_wide_load(const double *from) {
    return *(const tn_wide_unaligned *)from;
}
TN_INLINE void tn_wide_store(double *to, tn_wide value) {
    *(tn_wide_unaligned *)to = value;
}
TN_INLINE tn_wide tn_wide_all(double value) {
    const tn_wide zero = {0};
    return value - zero;
}
TN_INLINE void tn_wide_store_part(double *to, tn_wide value, int64_t count) {
    if (count > 0) memcpy(to, &value, (size_t)count * sizeof(double));
}
TN_INLINE tn_wide tn_wide_load_part(const double *from, int64_t count) {
    tn_wide value = {0};
    if (count > 0) memcpy(&value, from, (size_t)count * sizeof(double));
    return value;
}
TN_INLINE tn_wide tn_wide_select(tn_wide_bits mask, tn_wide a, tn_wide b) {
    return (tn_wide)(((tn_wide_bits)a & mask) | ((tn_wide_bits)b & ~mask));
}
TN_INLINE tn_wide tn_wide_max(tn_wide a, tn_wide b) {
    return tn_wide_select((tn_wide_bits)(a < b), b, a);
}
TN_INLINE tn_wide tn_wide_min(tn_wide a, tn_wide b) {
    return tn_wide_select((tn_wide_bits)(a > b), b, a);
}
TN_INLINE tn_wide tn_wide_absolute(tn_wide x) {
    return (tn_wide)((tn_wide_bits)x & INT64_MAX);
}
/* TN_WIDE_LANES floats as doubles, and doubles rounded to floats. */
TN_INLINE tn_wide tn_wide_of_floats(tn_wide_floats value) {
#if TN_VECTOR_BYTES == 64 /* which compilers split */
    return (tn_wide)_mm512_cvtps_pd((__m256)value);
#else
    return __builtin_convertvector(value, tn_wide);
#endif
}
TN_INLINE tn_wide tn_wide_load_floats(const float *from) {
    tn_wide_floats value;
    memcpy(&value, from, sizeof(value));
    return tn_wide_of_floats(value);
}
TN_INLINE void tn_wide_store_floats(float *to, tn_wide value) {
    const tn_wide_floats rounded = __builtin_convertvector(value, tn_wide_floats);
    memcpy(to, &rounded, sizeof(rounded));
}

/* What is added to round to an integer in the lowest bits. */
#define TN_WIDE_MAGIC 0x1.8p52
/* 2 to the power of n, -1022 <= n <= 1023. */
TN_INLINE tn_wide tn_wide_power_of_two(tn_wide_words n) {
    return (tn_wide)((n + 1023) << 52);
}

/* x = n ln 2 + r, |r| <= ln(2) / 2; returns exp(r) - 1 by the first terms of the series. */
TN_INLINE tn_wide tn_wide_reduced_expm1(tn_wide x, tn_wide n) {
    const tn_wide r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
    const tn_wide z = r * r, w = z * z;
    const tn_wide low = (r * (1.0 / 6) + 0.5) + (r * (1.0 / 120) + 1.0 / 24) * z;
    const tn_wide middle = (r * (1.0 / 5040) + 1.0 / 720) + (r * (1.0 / 362880) + 1.0 / 40320) * z;
    const tn_wide high =
        (r * (1.0 / 39916800) + 1.0 / 3628800) + (r * (1.0 / 6227020800) + 1.0 / 479001600) * z;
    return r + z * ((high * w + middle) * w + low);
}

/* Infinite above 709.8, zero below -745.2; NaN stays NaN. */
TN_INLINE tn_wide tn_wide_exp(tn_wide x) {
    x = tn_wide_min(tn_wide_max(x, tn_wide_all(-760.0)), tn_wide_all(720.0));
    const tn_wide shifted = x * 0x1.71547652b82fep0 + TN_WIDE_MAGIC, n = shifted - TN_WIDE_MAGIC;
    const tn_wide p = tn_wide_reduced_expm1(x, n) + 1.0;
#if TN_VECTOR_BYTES == 64
    return (tn_wide)_mm512_scalef_pd((__m512d)p, (__m512d)n);
#else
    const tn_wide_words power = (tn_wide_words)shifted - (tn_wide_words)tn_wide_all(TN_WIDE_MAGIC);
    const tn_wide_words half = ((power + 2048) >> 1) - 1024; /* in two steps, as in floats */
    return p * tn_wide_power_of_two(half) * tn_wide_power_of_two(power - half);
#endif
}

TN_INLINE tn_wide tn_wide_sigmoid(tn_wide x) {
    return 1.0 / (1.0 + tn_wide_exp(-x));
}

/* t / (t + 2) with t = exp(2 |x|) - 1, which keeps its digits near zero. NaN stays NaN. */
TN_INLINE tn_wide tn_wide_tanh(tn_wide x) {
    const tn_wide twice = 2.0 * tn_wide_min(tn_wide_absolute(x), tn_wide_all(20.0));
    const tn_wide shifted = twice * 0x1.71547652b82fep0 + TN_WIDE_MAGIC;
    const tn_wide scale =
        tn_wide_power_of_two((tn_wide_words)shifted - (tn_wide_words)tn_wide_all(TN_WIDE_MAGIC));
    const tn_wide t = tn_wide_reduced_expm1(twice, shifted - TN_WIDE_MAGIC) * scale + (scale - 1.0);
    return (tn_wide)((tn_wide_bits)(t / (t + 2.0)) | ((tn_wide_bits)x & INT64_MIN));
}

/* NaN below zero. The number is m 2^e with m about 1; log(m) = 2 atanh(s), s = (m - 1) / (m + 1),
 * by the first terms of the series. */
TN_INLINE tn_wide tn_wide_log(tn_wide x) {
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd); /* the bits of sqrt(1/2) */
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    const tn_wide_bits is_small = (tn_wide_bits)(x < 0x1p-1022);
    const tn_wide_words bits =
        (tn_wide_words)tn_wide_select(is_small, x * 0x1p54, x) + (one - root);
    const tn_wide_words power = (bits >> 52) - 1023 - (tn_wide_words)(is_small & 54);
    const tn_wide e = (tn_wide)(power + (tn_wide_words)tn_wide_all(TN_WIDE_MAGIC)) - TN_WIDE_MAGIC;
    const tn_wide m = (tn_wide)((bits & ((UINT64_C(1) << 52) - 1)) + root);
    const tn_wide s = (m - 1.0) / (m + 1.0), z = s * s;
    tn_wide p = z * (2.0 / 21) + 2.0 / 19;
    p = p * z + 2.0 / 17;
    p = p * z + 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    p = p * z + 2.0 / 3;
    tn_wide y = e * 0x1.62e42feep-1 + (2.0 * s + (e * 0x1.a39ef35793c76p-33 + s * z * p));
    const tn_wide infinity = tn_wide_all(__builtin_inf());
    y = tn_wide_select((tn_wide_bits)(x == infinity), infinity, y);
    y = tn_wide_select((tn_wide_bits)(x == 0.0), -infinity, y);
    return tn_wide_select((tn_wide_bits)(x >= 0.0), y, tn_wide_all(__builtin_nan("")));
}

/* x to the power of y as pow of C has it, of numbers that 32-bit floats hold: near the ends of the
 * doubles digits are lost. */
TN_INLINE tn_wide tn_wide_pow_of_floats(tn_wide x, tn_wide y) {
    const tn_wide size = tn_wide_absolute(x), half = 0.5 * y,
                  infinity = tn_wide_all(__builtin_inf());
    const tn_wide_bits is_whole = (tn_wide_bits)((y + TN_WIDE_MAGIC) - TN_WIDE_MAGIC == y);
    const tn_wide_bits is_odd =
        is_whole & (tn_wide_bits)((half + TN_WIDE_MAGIC) - TN_WIDE_MAGIC != half);
    tn_wide power = tn_wide_exp(y * tn_wide_log(size));
    power = (tn_wide)((tn_wide_bits)power | ((tn_wide_bits)x & is_odd & INT64_MIN));
    power = tn_wide_select((tn_wide_bits)(x < 0.0) & (tn_wide_bits)(size < infinity) & ~is_whole,
                           tn_wide_all(__builtin_nan("")), power);
    const tn_wide_bits is_one =
        (tn_wide_bits)(y == 0.0) | (tn_wide_bits)(x == 1.0) |
        ((tn_wide_bits)(size == 1.0) & (tn_wide_bits)(tn_wide_absolute(y) == infinity));
    return tn_wide_select(is_one, tn_wide_all(1.0), power);
}

#endif

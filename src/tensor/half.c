/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit floats (IEEE 754 binary16 and the upper half of a binary32), by their bits; declared
 * in type.h. */
#include "tensor/type.h"

#include <string.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

float tn_f16_to_f32(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 0x1f;
    const uint32_t fraction = bits & 0x3ff;
    if (exponent == 0x1f) return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = (float)fraction * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

uint16_t tn_f64_to_f16(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const uint64_t fraction = bits & 0xfffffffffffffull;
    if (exponent == 1024) /* infinity; a NaN stays one, quiet, with its upper bits */
        return (uint16_t)(sign | 0x7c00 | (fraction ? 0x200 | (uint16_t)(fraction >> 42) : 0));
    if (exponent > 15) return (uint16_t)(sign | 0x7c00);
    if (exponent < -25) return sign;
    /* The significand as an integer, of which `drop` bits are rounded away; below 2^-14 more of
     * them. */
    const uint64_t significand = fraction | 1ull << 52;
    const int drop = exponent < -14 ? 42 + (-14 - exponent) : 42;
    uint64_t kept = significand >> drop;
    const uint64_t rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    /* A carry out of the significand raises the exponent by itself, up to infinity. */
    const uint64_t base = exponent < -14 ? 0 : (uint64_t)(exponent + 14) << 10;
    return (uint16_t)(sign | (base + kept));
}

uint16_t tn_f32_to_f16(float value) {
    return tn_f64_to_f16((double)value);
}

float tn_bf16_to_f32(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

uint16_t tn_f32_to_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

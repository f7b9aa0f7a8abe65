/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of 16-bit floats as 32-bit ones, exactly: loops without branches, for compilers to make
 * vectors of. Single elements of any type are element.h's. */
#ifndef TN_KIT_MATH_WIDEN_H
#define TN_KIT_MATH_WIDEN_H

#include <stdint.h>
#include <string.h>

static inline float tn_widen_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Exponent and mantissa moved to their positions make a number that is 2^112 too small; infinities
 * and NaN have all bits of the exponent set. */
static inline float tn_widen_f16(uint16_t half) {
    const uint32_t magnitude = (uint32_t)(half & 0x7FFFu) << 13;
    const float finite = tn_widen_bits(magnitude) * 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &finite, sizeof(bits));
    bits = magnitude >= 0x0F800000u ? magnitude | 0x7F800000u : bits;
    return tn_widen_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

static inline void tn_widen_f16_row(int64_t count, const uint16_t *from, float *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = tn_widen_f16(from[i]);
}

static inline void tn_widen_bf16_row(int64_t count, const uint16_t *from, float *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = tn_widen_bits((uint32_t)from[i] << 16);
}

#endif

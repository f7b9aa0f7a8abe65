/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of rows.h for one level, which TN_QUANTIZED_LEVEL names; written for the compiler to
 * vectorise. */
#include "quantized/rows.h"

#include <string.h>

/* Within the bounds adding a large number rounds to nearest even. NaN, of infinite factors, is 0.
 */
static inline uint8_t round_to_byte(float value, float low, float high, int32_t zero) {
    const float magic = 0x1.8p23f;
    int32_t bits, base;
    value = value == value ? value : 0.0f;
    value = value < low ? low : value;
    value = (value > high ? high : value) + magic;
    memcpy(&bits, &value, sizeof(bits));
    memcpy(&base, &magic, sizeof(base));
    return (uint8_t)(bits - base + zero);
}

static inline float real_of(uint8_t byte, uint8_t flip, int32_t zero, float factor) {
    return (float)((int32_t)(uint8_t)(byte ^ flip) - zero) * factor;
}

static inline __attribute__((always_inline)) void add_rows(tn_quantized_sum s, int64_t count,
                                                           const uint8_t *a, const int64_t a_step,
                                                           const uint8_t *b, const int64_t b_step,
                                                           uint8_t *restrict y) {
    const float low = (float)-s.y_zero, high = (float)(255 - s.y_zero);
    for (int64_t i = 0; i < count; i++) {
        const float value = real_of(a[i * a_step], s.a_flip, s.a_zero, s.a_factor) +
                            real_of(b[i * b_step], s.b_flip, s.b_zero, s.b_factor);
        y[i] = round_to_byte(value, low, high, s.y_zero) ^ s.y_flip;
    }
}

static void add(const tn_quantized_sum *sum, int64_t count, const uint8_t *a, int64_t a_step,
                const uint8_t *b, int64_t b_step, uint8_t *y) {
    if (a_step && b_step)
        add_rows(*sum, count, a, 1, b, 1, y);
    else if (a_step)
        add_rows(*sum, count, a, 1, b, 0, y);
    else if (b_step)
        add_rows(*sum, count, a, 0, b, 1, y);
    else
        add_rows(*sum, count, a, 0, b, 0, y);
}

const tn_quantized_level TN_QUANTIZED_LEVEL = {add};

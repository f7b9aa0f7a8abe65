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

/* `of` is add_one or multiply_one. */
static inline float add_one(const tn_quantized_pair *p, uint8_t a, uint8_t b) {
    return real_of(a, p->a_flip, p->a_zero, p->a_factor) +
           real_of(b, p->b_flip, p->b_zero, p->b_factor);
}

/* The product of integers is exact. */
static inline float multiply_one(const tn_quantized_pair *p, uint8_t a, uint8_t b) {
    const int32_t product = ((int32_t)(uint8_t)(a ^ p->a_flip) - p->a_zero) *
                            ((int32_t)(uint8_t)(b ^ p->b_flip) - p->b_zero);
    return (float)product * p->a_factor;
}

#define ROWS(name)                                                                                 \
    static inline __attribute__((always_inline)) void name##_rows(                                 \
        tn_quantized_pair p, int64_t count, const uint8_t *a, const int64_t a_step,                \
        const uint8_t *b, const int64_t b_step, uint8_t *restrict y) {                             \
        const float low = (float)-p.y_zero, high = (float)(255 - p.y_zero);                        \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] =                                                                                 \
                round_to_byte(name##_one(&p, a[i * a_step], b[i * b_step]), low, high, p.y_zero) ^ \
                p.y_flip;                                                                          \
    }                                                                                              \
    static void name(const tn_quantized_pair *pair, int64_t count, const uint8_t *a,               \
                     int64_t a_step, const uint8_t *b, int64_t b_step, uint8_t *y) {               \
        if (a_step && b_step)                                                                      \
            name##_rows(*pair, count, a, 1, b, 1, y);                                              \
        else if (a_step)                                                                           \
            name##_rows(*pair, count, a, 1, b, 0, y);                                              \
        else if (b_step)                                                                           \
            name##_rows(*pair, count, a, 0, b, 1, y);                                              \
        else                                                                                       \
            name##_rows(*pair, count, a, 0, b, 0, y);                                              \
    }
ROWS(add)
ROWS(multiply)

const tn_quantized_level TN_QUANTIZED_LEVEL = {add, multiply};

/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of rows.h for one level, which TN_QUANTIZED_LEVEL names. */
#include "quantized/rows.h"
#include "kit/int8/bytes_pack.h"
#include <tenon/kit/byte_vector.h>

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

#if defined(TN_BYTES_PACK)
/* Steps from the zero point. */
TN_INLINE tn_vector_whole steps_of(const uint8_t *x, uint8_t flip, int32_t zero) {
    const int32_t bits = flip ? -1 : UINT8_MAX; /* of unsigned bytes, which are not negative */
    return (tn_byte_widen((const int8_t *)x, TN_LANES) & bits) - (zero - flip);
}

TN_INLINE tn_vector add_vectors(const tn_quantized_pair *p, const uint8_t *a, const uint8_t *b) {
    return tn_vector_of_whole(steps_of(a, p->a_flip, p->a_zero)) * p->a_factor +
           tn_vector_of_whole(steps_of(b, p->b_flip, p->b_zero)) * p->b_factor;
}

TN_INLINE tn_vector multiply_vectors(const tn_quantized_pair *p, const uint8_t *a,
                                     const uint8_t *b) {
    return tn_vector_of_whole(steps_of(a, p->a_flip, p->a_zero) *
                              steps_of(b, p->b_flip, p->b_zero)) *
           p->a_factor;
}

/* A vector of bytes; those of one element for the row are vectors of it. */
#define VECTORS(name)                                                                              \
    TN_INLINE int64_t name##_blocks(const tn_quantized_pair *p, int64_t count, const uint8_t *a,   \
                                    const int64_t a_step, const uint8_t *b, const int64_t b_step,  \
                                    uint8_t *y) {                                                  \
        enum { BLOCK = 4 * TN_LANES };                                                             \
        const tn_packed_bits low = TN_PACKED(set1_epi8)((char)p->y_low);                           \
        const tn_packed_bits high = TN_PACKED(set1_epi8)((char)p->y_high);                         \
        const tn_packed_bits flip = TN_PACKED(set1_epi8)((char)p->y_flip);                         \
        uint8_t one[2][BLOCK];                                                                     \
        int64_t i = 0;                                                                             \
        if (count < BLOCK) return 0;                                                               \
        memset(one[0], *a, BLOCK);                                                                 \
        memset(one[1], *b, BLOCK);                                                                 \
        for (; i + BLOCK <= count; i += BLOCK) {                                                   \
            tn_vector values[4];                                                                   \
            TN_UNROLL for (int k = 0; k < 4; k++) {                                                \
                const int64_t at = k * TN_LANES;                                                   \
                values[k] = name##_vectors(p, a_step ? a + i + at : one[0] + at,                   \
                                           b_step ? b + i + at : one[1] + at);                     \
            }                                                                                      \
            const tn_packed_bits bytes = tn_bytes_packed(values, p->y_zero, false);                \
            const tn_packed_bits within =                                                          \
                TN_PACKED(min_epu8)(TN_PACKED(max_epu8)(bytes, low), high);                        \
            tn_packed_store(within ^ flip, y + i);                                                 \
        }                                                                                          \
        return i;                                                                                  \
    }
VECTORS(add)
VECTORS(multiply)
#else
#define add_blocks(...)      0
#define multiply_blocks(...) 0
#endif

#define ROWS(name)                                                                                 \
    TN_INLINE void name##_rows(tn_quantized_pair p, int64_t count, const uint8_t *a,               \
                               const int64_t a_step, const uint8_t *b, const int64_t b_step,       \
                               uint8_t *restrict y) {                                              \
        const float low = (float)(p.y_low - p.y_zero), high = (float)(p.y_high - p.y_zero);        \
        for (int64_t i = name##_blocks(&p, count, a, a_step, b, b_step, y); i < count; i++)        \
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of rows.h for one processor level. Included by a file a level, which names
 * the table as TN_QUANTIZE_LEVEL.
 */
#include <tenon/kit/vector.h>
#include "quantize/rows.h"

typedef int8_t vector_i8 __attribute__((vector_size(TN_LANES)));
typedef uint8_t vector_u8 __attribute__((vector_size(TN_LANES)));

TN_INLINE tn_vector load_floats(const float *from, int64_t at, int64_t step, int64_t left) {
    if (step == 0) return tn_vector_all(from[0]);
    return left >= TN_LANES ? tn_vector_load(from + at) : tn_vector_load_part(from + at, left);
}

/* Halves to the even number, which adding a large number does; NaN becomes zero. */
TN_INLINE tn_vector_bits to_integers(tn_vector quotient, tn_vector_bits zero, float low,
                                     float high) {
    const tn_vector magic = tn_vector_all(0x1.8p23f);
    const tn_vector offset = __builtin_convertvector(zero, tn_vector);
    quotient =
        tn_vector_select((tn_vector_bits)(quotient == quotient), quotient, tn_vector_all(0.0f));
    quotient = tn_vector_min(tn_vector_max(quotient, low - offset), high - offset);
    return (tn_vector_bits)(quotient + magic) - (tn_vector_bits)magic + zero;
}

/* Defines the functions of one type of integers. */
#define ROWS(name, element, vector, low, high)                                                     \
    TN_INLINE tn_vector_bits load_##name(const void *from, int64_t at, int64_t step,               \
                                         int64_t left) {                                           \
        vector narrow = {0};                                                                       \
        if (!from) return (tn_vector_bits){0};                                                     \
        if (step == 0) return (tn_vector_bits){0} + *(const element *)from;                        \
        if (left >= TN_LANES)                                                                      \
            memcpy(&narrow, (const element *)from + at, TN_LANES);                                 \
        else                                                                                       \
            memcpy(&narrow, (const element *)from + at, (size_t)left);                             \
        return __builtin_convertvector(narrow, tn_vector_bits);                                    \
    }                                                                                              \
    TN_INLINE void to_##name##_loop(int64_t count, const void *x, const float *scale,              \
                                    const void *zero, int64_t step, void *y) {                     \
        for (int64_t i = 0; i < count; i += TN_LANES) {                                            \
            const int64_t left = count - i;                                                        \
            const tn_vector quotient =                                                             \
                load_floats(x, i, 1, left) / load_floats(scale, i, step, left);                    \
            const tn_vector_bits whole =                                                           \
                to_integers(quotient, load_##name(zero, i, step, left), low, high);                \
            const vector narrow = __builtin_convertvector(whole, vector);                          \
            if (left >= TN_LANES)                                                                  \
                memcpy((element *)y + i, &narrow, TN_LANES);                                       \
            else                                                                                   \
                memcpy((element *)y + i, &narrow, (size_t)left);                                   \
        }                                                                                          \
    }                                                                                              \
    TN_INLINE void from_##name##_loop(int64_t count, const void *x, const float *scale,            \
                                      const void *zero, int64_t step, void *y) {                   \
        for (int64_t i = 0; i < count; i += TN_LANES) {                                            \
            const int64_t left = count - i;                                                        \
            const tn_vector_bits whole =                                                           \
                load_##name(x, i, 1, left) - load_##name(zero, i, step, left);                     \
            const tn_vector value =                                                                \
                __builtin_convertvector(whole, tn_vector) * load_floats(scale, i, step, left);     \
            if (left >= TN_LANES)                                                                  \
                tn_vector_store((float *)y + i, value);                                            \
            else                                                                                   \
                tn_vector_store_part((float *)y + i, value, left);                                 \
        }                                                                                          \
    }                                                                                              \
    static void to_##name(int64_t count, const void *x, const float *scale, const void *zero,      \
                          int64_t step, void *y) {                                                 \
        if (step)                                                                                  \
            to_##name##_loop(count, x, scale, zero, 1, y);                                         \
        else                                                                                       \
            to_##name##_loop(count, x, scale, zero, 0, y);                                         \
    }                                                                                              \
    static void from_##name(int64_t count, const void *x, const float *scale, const void *zero,    \
                            int64_t step, void *y) {                                               \
        if (step)                                                                                  \
            from_##name##_loop(count, x, scale, zero, 1, y);                                       \
        else                                                                                       \
            from_##name##_loop(count, x, scale, zero, 0, y);                                       \
    }
ROWS(i8, int8_t, vector_i8, -128.0f, 127.0f)
ROWS(u8, uint8_t, vector_u8, 0.0f, 255.0f)

const tn_quantize_level TN_QUANTIZE_LEVEL = {to_i8, to_u8, from_i8, from_u8};

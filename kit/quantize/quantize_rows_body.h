/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of quantize_rows.h for one processor level. Included by a file a level, which names
 * the table as TN_QUANTIZE_LEVEL.
 */
#include <tenon/kit/vector.h>
#include "kit/quantize/quantize_rows.h"

#include <stdbool.h>

typedef int8_t vector_i8 __attribute__((vector_size(TN_LANES)));
typedef uint8_t vector_u8 __attribute__((vector_size(TN_LANES)));

/* `is_signed` and `step` are constants wherever these are inlined. */

TN_INLINE tn_vector load_floats(const float *from, int64_t at, int64_t step, int64_t left) {
    if (step == 0) return tn_vector_all(from[0]);
    return left >= TN_LANES ? tn_vector_load(from + at) : tn_vector_load_part(from + at, left);
}

TN_INLINE tn_vector_bits load_bytes(const bool is_signed, const void *from, int64_t at,
                                    int64_t step, int64_t left) {
    const uint8_t *bytes = from;
    vector_u8 narrow = {0};
    if (!from) return (tn_vector_bits){0};
    if (step == 0) return (tn_vector_bits){0} + (is_signed ? (int8_t)bytes[0] : bytes[0]);
    if (left >= TN_LANES)
        memcpy(&narrow, bytes + at, TN_LANES);
    else
        memcpy(&narrow, bytes + at, (size_t)left);
    return is_signed ? __builtin_convertvector((vector_i8)narrow, tn_vector_bits)
                     : __builtin_convertvector(narrow, tn_vector_bits);
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

TN_INLINE void quantise_row(const bool is_signed, int64_t count, const float *x, const float *scale,
                            const void *zero, int64_t step, uint8_t *y) {
    const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
    for (int64_t i = 0; i < count; i += TN_LANES) {
        const int64_t left = count - i;
        const tn_vector quotient = load_floats(x, i, 1, left) / load_floats(scale, i, step, left);
        const tn_vector_bits whole =
            to_integers(quotient, load_bytes(is_signed, zero, i, step, left), low, high);
        const vector_u8 narrow = __builtin_convertvector(whole, vector_u8);
        if (left >= TN_LANES)
            memcpy(y + i, &narrow, TN_LANES);
        else
            memcpy(y + i, &narrow, (size_t)left);
    }
}

TN_INLINE void dequantise_row(const bool is_signed, int64_t count, const void *x,
                              const float *scale, const void *zero, int64_t step, float *y) {
    for (int64_t i = 0; i < count; i += TN_LANES) {
        const int64_t left = count - i;
        const tn_vector_bits whole =
            load_bytes(is_signed, x, i, 1, left) - load_bytes(is_signed, zero, i, step, left);
        const tn_vector value =
            __builtin_convertvector(whole, tn_vector) * load_floats(scale, i, step, left);
        if (left >= TN_LANES)
            tn_vector_store(y + i, value);
        else
            tn_vector_store_part(y + i, value, left);
    }
}

/* A function of quantize_rows.h. */
#define ROW(name, loop, is_signed)                                                                 \
    static void name(int64_t count, const void *x, const float *scale, const void *zero,           \
                     int64_t step, void *y) {                                                      \
        if (step)                                                                                  \
            loop(is_signed, count, x, scale, zero, 1, y);                                          \
        else                                                                                       \
            loop(is_signed, count, x, scale, zero, 0, y);                                          \
    }
ROW(to_i8, quantise_row, true)
ROW(to_u8, quantise_row, false)
ROW(from_i8, dequantise_row, true)
ROW(from_u8, dequantise_row, false)

const tn_quantize_level TN_QUANTIZE_LEVEL = {to_i8, to_u8, from_i8, from_u8};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one element type to another, for elements that lie one after the other: a piece at a time
 * is widened into a line of doubles or of 64-bit integers, and narrowed from there, so that each
 * type needs one loop in and one out. Single numbers are in element.c.
 */
#include "tensor/convert_private.h"
#include "tensor/narrow.h"

#include <math.h>
#include <string.h>

#define PIECE 256

/* Floating-point values. */

/* A 64-bit integer as the double from which narrower types are rounded right: of a number that a
 * double cannot hold, bits are dropped so that it is odd when any of them was set. Rounded to
 * fewer bits it then gives what the integer itself would (S. Boldo, G. Melquiond, "When double
 * rounding is odd", 2005). */
static double odd_double(uint64_t magnitude) {
    if (magnitude >> 53) {
        const uint64_t dropped = magnitude & 0x7ff;
        magnitude = (magnitude ^ dropped) | (dropped ? 0x800 : 0);
    }
    return (double)magnitude;
}

static void widen_exactly(const void *from, tn_type type, tn_type to_type, double *out,
                          int64_t count) {
    const bool is_narrower = to_type != TN_F64;
    for (int64_t i = 0; i < count; i++) {
        if (type == TN_U64) {
            const uint64_t value = ((const uint64_t *)from)[i];
            out[i] = is_narrower ? odd_double(value) : (double)value;
        } else {
            const int64_t value = ((const int64_t *)from)[i];
            const double magnitude = odd_double(value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
            out[i] = !is_narrower ? (double)value : value < 0 ? -magnitude : magnitude;
        }
    }
}

static void widen_floats(const void *from, tn_type type, tn_type to_type, double *out,
                         int64_t count) {
    switch (type) {
#define CASE(name, c_type, expression)                                                             \
    case name:                                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const c_type value = ((const c_type *)from)[i];                                        \
            out[i] = (expression);                                                                 \
        }                                                                                          \
        break
        CASE(TN_F64, double, value);
        CASE(TN_F32, float, (double)value);
        CASE(TN_F16, uint16_t, (double)tn_f16_to_f32(value));
        CASE(TN_BF16, uint16_t, (double)tn_bf16_to_f32(value));
        CASE(TN_I32, int32_t, (double)value);
        CASE(TN_I16, int16_t, (double)value);
        CASE(TN_I8, int8_t, (double)value);
        CASE(TN_U32, uint32_t, (double)value);
        CASE(TN_U16, uint16_t, (double)value);
        CASE(TN_U8, uint8_t, (double)value);
        CASE(TN_BOOL, uint8_t, value ? 1.0 : 0.0);
#undef CASE
    case TN_I64:
    case TN_U64:
        widen_exactly(from, type, to_type, out, count);
        break;
    default: /* narrow types */
        for (int64_t i = 0; i < count; i++)
            out[i] = tn_element_get_f64(from, type, (size_t)i);
        break;
    }
}

/* Toward zero, and within the type's range; NaN becomes 0. */
static inline double clamp(double value, double low, double high) {
    value = value != value ? 0 : value;
    return value < low ? low : value > high ? high : value;
}

static int64_t to_i64(double value) {
    return value >= 0x1p63 ? INT64_MAX : (int64_t)clamp(value, -0x1p63, 0x1p63);
}

static uint64_t to_u64(double value) {
    return value >= 0x1p64 ? UINT64_MAX : (uint64_t)clamp(value, 0, 0x1p64);
}

static void narrow_floats(const double *from, void *to, tn_type type, int64_t count) {
    switch (type) {
#define CASE(name, c_type, expression)                                                             \
    case name:                                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const double value = from[i];                                                          \
            ((c_type *)to)[i] = (c_type)(expression);                                              \
        }                                                                                          \
        break
        CASE(TN_F64, double, value);
        CASE(TN_F32, float, value);
        CASE(TN_F16, uint16_t, tn_f64_to_f16(value));
        CASE(TN_I64, int64_t, to_i64(value));
        CASE(TN_I32, int32_t, clamp(value, INT32_MIN, INT32_MAX));
        CASE(TN_I16, int16_t, clamp(value, INT16_MIN, INT16_MAX));
        CASE(TN_I8, int8_t, clamp(value, INT8_MIN, INT8_MAX));
        CASE(TN_U64, uint64_t, to_u64(value));
        CASE(TN_U32, uint32_t, clamp(value, 0, UINT32_MAX));
        CASE(TN_U16, uint16_t, clamp(value, 0, UINT16_MAX));
        CASE(TN_U8, uint8_t, clamp(value, 0, UINT8_MAX));
        CASE(TN_BOOL, uint8_t, value != 0);
#undef CASE
    default: /* bf16 and narrow types */
        for (int64_t i = 0; i < count; i++)
            tn_element_set_f64(to, type, (size_t)i,
                               tn_narrow_is_integer(type) ? trunc(from[i]) : from[i]);
        break;
    }
}

/* Integers and truth values: in two's complement, of which the lower bits are kept. */

static void widen_integers(const void *from, tn_type type, uint64_t *out, int64_t count) {
    switch (type) {
#define CASE(name, c_type, expression)                                                             \
    case name:                                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const c_type value = ((const c_type *)from)[i];                                        \
            out[i] = (uint64_t)(expression);                                                       \
        }                                                                                          \
        break
        CASE(TN_I64, int64_t, value);
        CASE(TN_I32, int32_t, value);
        CASE(TN_I16, int16_t, value);
        CASE(TN_I8, int8_t, value);
        CASE(TN_U64, uint64_t, value);
        CASE(TN_U32, uint32_t, value);
        CASE(TN_U16, uint16_t, value);
        CASE(TN_U8, uint8_t, value);
        CASE(TN_BOOL, uint8_t, value != 0);
#undef CASE
    default:
        for (int64_t i = 0; i < count; i++)
            out[i] = (uint64_t)tn_element_get_i64(from, type, (size_t)i);
        break;
    }
}

static void narrow_packed(const uint64_t *from, void *to, tn_type type, int64_t count) {
    const uint32_t unused = 64 - tn_type_bits(type);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t kept = from[i] << unused;
        tn_element_set_i64(to, type, (size_t)i,
                           tn_type_is_signed(type) ? (int64_t)kept >> unused
                                                   : (int64_t)(kept >> unused));
    }
}

static void narrow_integers(const uint64_t *from, void *to, tn_type type, int64_t count) {
    if (type == TN_BOOL) {
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = from[i] != 0;
        return;
    }
    switch (tn_type_bytes(type)) {
#define CASE(bytes, c_type)                                                                        \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((c_type *)to)[i] = (c_type)from[i];                                                   \
        break
        CASE(1, uint8_t);
        CASE(2, uint16_t);
        CASE(4, uint32_t);
        CASE(8, uint64_t);
#undef CASE
    default:
        narrow_packed(from, to, type, count);
        break;
    }
}

/* PIECE elements of a packed type fill whole bytes. */
void tn_convert_types(const void *from, tn_type from_type, void *to, tn_type to_type,
                      int64_t count) {
    const bool is_real = tn_type_is_float(from_type) || tn_type_is_float(to_type);
    const char *source = from;
    char *target = to;
    double doubles[PIECE];
    uint64_t integers[PIECE];
    for (int64_t first = 0; first < count; first += PIECE) {
        const int64_t piece = count - first < PIECE ? count - first : PIECE;
        if (is_real) {
            widen_floats(source, from_type, to_type, doubles, piece);
            narrow_floats(doubles, target, to_type, piece);
        } else {
            widen_integers(source, from_type, integers, piece);
            narrow_integers(integers, target, to_type, piece);
        }
        source += tn_type_storage(from_type, (size_t)piece);
        target += tn_type_storage(to_type, (size_t)piece);
    }
}

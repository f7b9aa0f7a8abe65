/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 8 and 4 bits and integers of 4 and 2; see small.h. */
#include "kit/math/small.h"

#include <math.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * bits */

static uint32_t bits_of(tn_type type) {
    if (type == TN_F4E2M1 || type == TN_I4 || type == TN_U4) return 4;
    return type == TN_I2 || type == TN_U2 ? 2 : 8;
}

static uint32_t get_bits(const void *data, tn_type type, int64_t index) {
    const uint32_t bits = bits_of(type), each = 8 / bits;
    const uint32_t byte = ((const uint8_t *)data)[index / each];
    return byte >> ((uint32_t)(index % each) * bits) & ((1u << bits) - 1);
}

static void set_bits(void *data, tn_type type, int64_t index, uint32_t value) {
    const uint32_t bits = bits_of(type), each = 8 / bits;
    const uint32_t shift = (uint32_t)(index % each) * bits, mask = ((1u << bits) - 1) << shift;
    uint8_t *byte = (uint8_t *)data + index / each;
    *byte = (uint8_t)((*byte & ~mask) | (value << shift & mask));
}

/* ----------------------------------------------------------------------------------------------
 * floats */

typedef struct small_form {
    int mantissa; /* its bits */
    int bias;
    double largest;
    uint32_t sign;   /* its bit */
    uint32_t beyond; /* what stands for an infinity, without the sign: that, NaN, or the largest */
    uint32_t nan;
    bool is_unsigned_zero; /* what would be -0 is NaN */
} small_form;

static const small_form *form_of(tn_type type) {
    static const small_form forms[] = {{3, 7, 448, 0x80, 0x7f, 0x7f, false},
                                       {3, 8, 240, 0x80, 0x80, 0x80, true},
                                       {2, 15, 57344, 0x80, 0x7c, 0x7e, false},
                                       {2, 16, 57344, 0x80, 0x80, 0x80, true},
                                       {1, 1, 6, 0x08, 0x07, 0x08, false}};
    return &forms[type == TN_F4E2M1 ? 4 : type - TN_F8E4M3];
}

static double decode(tn_type type, uint32_t bits) {
    const small_form *form = form_of(type);
    const uint32_t magnitude = bits & (form->sign - 1), one = 1u << form->mantissa;
    const uint32_t exponent = magnitude >> form->mantissa, fraction = magnitude & (one - 1);
    if (form->is_unsigned_zero && bits == form->sign) return NAN;
    if (type == TN_F8E4M3 && magnitude == form->nan) return NAN;
    if (type == TN_F8E5M2 && magnitude > form->beyond) return NAN;
    const double value = type == TN_F8E5M2 && magnitude == form->beyond ? INFINITY
                         : exponent == 0
                             ? ldexp(fraction, 1 - form->bias - form->mantissa)
                             : ldexp(fraction + one, (int)exponent - form->bias - form->mantissa);
    return bits & form->sign ? -value : value;
}

/* The exponent and mantissa of a finite number that is not negative, rounded; where that is beyond
 * the largest number, SMALL_BEYOND. */
enum { SMALL_BEYOND = 256 };
static uint32_t round_magnitude(const small_form *form, double value) {
    const int lowest = 1 - form->bias;
    int exponent = value > 0 ? ilogb(value) : lowest;
    if (exponent < lowest) exponent = lowest;
    const double steps = nearbyint(ldexp(value, form->mantissa - exponent));
    if (ldexp(steps, exponent - form->mantissa) > form->largest) return SMALL_BEYOND;
    /* The leading bit of the mantissa raises the exponent by one, as a carry does. */
    return (uint32_t)((exponent - lowest) << form->mantissa) + (uint32_t)steps;
}

static uint32_t encode(const small_form *form, double value, bool is_saturated) {
    if (isnan(value)) return form->nan;
    uint32_t magnitude = isinf(value) ? SMALL_BEYOND : round_magnitude(form, fabs(value));
    if (magnitude == SMALL_BEYOND)
        magnitude = is_saturated ? round_magnitude(form, form->largest) : form->beyond;
    if (form->is_unsigned_zero && (magnitude == 0 || magnitude == form->nan)) return magnitude;
    return signbit(value) ? magnitude | form->sign : magnitude;
}

/* An exponent alone: that of the 32-bit float, raised where the fraction says so. */
static uint32_t encode_power(float value, tn_small_mode mode) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
    const bool is_half = fraction >= 0x400000 && (fraction > 0x400000 || exponent > 0);
    const bool is_raised = (mode.rounding == TN_SMALL_UP && fraction > 0) ||
                           (mode.rounding == TN_SMALL_NEAREST && is_half);
    if (exponent == 0xff) return 0xff;
    return is_raised && !(mode.is_saturated && exponent == 0xfe) ? exponent + 1 : exponent;
}

/* ----------------------------------------------------------------------------------------------
 * elements */

double tn_small_load(const void *data, tn_type type, int64_t index) {
    const uint32_t bits = get_bits(data, type, index);
    if (type == TN_F8E8M0) return bits == 0xff ? (double)NAN : ldexp(1, (int)bits - 127);
    if (tn_small_is_float(type)) return decode(type, bits);
    const uint32_t sign = type == TN_I4 ? 8 : type == TN_I2 ? 2 : 0;
    return (double)(int32_t)(bits ^ sign) - (double)sign;
}

void tn_small_store_float(void *data, tn_type type, int64_t index, double value,
                          tn_small_mode mode) {
    set_bits(data, type, index,
             type == TN_F8E8M0 ? encode_power((float)value, mode)
                               : encode(form_of(type), value, mode.is_saturated));
}

void tn_small_store_integer(void *data, tn_type type, int64_t index, int64_t value) {
    set_bits(data, type, index, (uint32_t)value);
}

void tn_small_range(tn_type type, int64_t *out_low, int64_t *out_high) {
    const bool is_signed = type == TN_I16 || type == TN_I8 || type == TN_I4 || type == TN_I2;
    const uint32_t bits = type == TN_I16 || type == TN_U16 ? 16 : bits_of(type);
    *out_low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    *out_high = *out_low + (INT64_C(1) << bits) - 1;
}

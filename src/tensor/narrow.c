/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of 8 and 4 bits, and packed integers; see narrow.h. */
#include "tensor/narrow.h"
#include "tensor/type.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * bits */

static uint32_t get_bits(const void *data, uint32_t bits, size_t index) {
    const uint8_t *bytes = data;
    const size_t each = 8 / bits;
    return ((uint32_t)bytes[index / each] >> (index % each * bits)) & ((1u << bits) - 1);
}

static void set_bits(void *data, uint32_t bits, size_t index, uint32_t value) {
    uint8_t *bytes = data;
    const size_t each = 8 / bits;
    const uint32_t shift = (uint32_t)(index % each) * bits, mask = ((1u << bits) - 1) << shift;
    bytes[index / each] = (uint8_t)((bytes[index / each] & ~mask) | (value << shift & mask));
}

/* ----------------------------------------------------------------------------------------------
 * floats */

typedef enum specials {
    NONE,      /* every pattern is a number */
    LAST_NAN,  /* all bits of exponent and mantissa set */
    IEEE,      /* the largest exponent: infinities and NaN */
    MINUS_ZERO /* what would be -0 is NaN */
} specials;

typedef struct float_form {
    uint8_t mantissa, sign; /* bits of the mantissa, and the bit of the sign */
    int8_t bias;
    specials special;
    double largest;
    uint8_t nan, infinity;
} float_form;

static const float_form *form_of(tn_type type) {
    static const float_form forms[] = {{3, 0x80, 7, LAST_NAN, 448, 0x7f, 0x7e},
                                       {3, 0x80, 8, MINUS_ZERO, 240, 0x80, 0x80},
                                       {2, 0x80, 15, IEEE, 57344, 0x7e, 0x7c},
                                       {2, 0x80, 16, MINUS_ZERO, 57344, 0x80, 0x80},
                                       {1, 0x08, 1, NONE, 6, 0, 7}};
    return &forms[type == TN_F4E2M1 ? 4 : type - TN_F8E4M3];
}

bool tn_narrow_is_float(tn_type type) {
    return type >= TN_F8E4M3 && type <= TN_F4E2M1;
}

static bool is_nan_pattern(const float_form *form, uint32_t bits) {
    const uint32_t magnitude = bits & (form->sign - 1u);
    switch (form->special) {
    case LAST_NAN:
        return magnitude == form->sign - 1u;
    case IEEE:
        return magnitude > form->infinity;
    case MINUS_ZERO:
        return bits == form->sign;
    default:
        return false;
    }
}

static double decode(const float_form *form, uint32_t bits) {
    const uint32_t magnitude = bits & (form->sign - 1u), exponent = magnitude >> form->mantissa;
    const uint32_t fraction = magnitude & ((1u << form->mantissa) - 1);
    double value;
    if (is_nan_pattern(form, bits)) return NAN;
    if (form->special == IEEE && magnitude == form->infinity)
        value = INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - form->bias - form->mantissa);
    else
        value =
            ldexp(fraction + (1u << form->mantissa), (int)exponent - form->bias - form->mantissa);
    return bits & form->sign ? -value : value;
}

/* Bits of exponent and mantissa of a finite number that is not negative. */
static uint32_t encode_magnitude(const float_form *form, double value) {
    const int lowest = 1 - form->bias;
    int exponent = value > 0 ? ilogb(value) : lowest;
    if (exponent < lowest) exponent = lowest;
    const double steps = nearbyint(ldexp(value, form->mantissa - exponent));
    if (ldexp(steps, exponent - form->mantissa) >= form->largest) {
        exponent = ilogb(form->largest);
        return (uint32_t)((exponent - lowest) << form->mantissa) +
               (uint32_t)ldexp(form->largest, form->mantissa - exponent);
    }
    /* The leading bit of the mantissa raises the exponent by one, as a carry does. */
    return (uint32_t)((exponent - lowest) << form->mantissa) + (uint32_t)steps;
}

static uint32_t encode(const float_form *form, double value) {
    if (isnan(value)) return form->nan;
    const uint32_t magnitude = isinf(value) ? form->infinity : encode_magnitude(form, fabs(value));
    if (form->special == MINUS_ZERO && (magnitude == 0 || magnitude == form->nan)) return magnitude;
    return signbit(value) ? magnitude | form->sign : magnitude;
}

static uint32_t encode_power(double value) {
    if (isnan(value) || value < 0) return 255;
    if (value <= 0x1p-127) return 0;
    if (value >= 0x1p127) return 254;
    const int exponent = ilogb(value);
    return (uint32_t)(exponent + 127 + (ldexp(value, -exponent) >= 1.5));
}

double tn_narrow_get_float(const void *data, tn_type type, size_t index) {
    const uint32_t bits = get_bits(data, tn_type_bits(type), index);
    if (type == TN_F8E8M0) return bits == 255 ? NAN : ldexp(1, (int)bits - 127);
    return decode(form_of(type), bits);
}

void tn_narrow_set_float(void *data, tn_type type, size_t index, double value) {
    set_bits(data, tn_type_bits(type), index,
             type == TN_F8E8M0 ? encode_power(value) : encode(form_of(type), value));
}

/* ----------------------------------------------------------------------------------------------
 * integers */

bool tn_narrow_is_integer(tn_type type) {
    return type >= TN_I4 && type <= TN_U2;
}

int64_t tn_narrow_get_integer(const void *data, tn_type type, size_t index) {
    const uint32_t bits = tn_type_bits(type), value = get_bits(data, bits, index);
    const bool is_negative = tn_type_is_signed(type) && value >> (bits - 1);
    return (int64_t)value - (is_negative ? INT64_C(1) << bits : 0);
}

void tn_narrow_set_integer(void *data, tn_type type, size_t index, int64_t value) {
    const uint32_t bits = tn_type_bits(type);
    const int64_t low = tn_type_is_signed(type) ? -(INT64_C(1) << (bits - 1)) : 0;
    const int64_t high = low + (INT64_C(1) << bits) - 1;
    set_bits(data, bits, index, (uint32_t)(value < low ? low : value > high ? high : value));
}

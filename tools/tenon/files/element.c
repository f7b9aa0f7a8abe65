/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a linear tensor; see element.h. */
#include "element.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static double half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction ? (double)NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double brain(uint16_t upper) {
    const uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

/* ----------------------------------------------------------------------------------------------
 * 8 bits and less */

/* How a float of 8 or 4 bits is made: sign, exponent, fraction. */
typedef struct small_form {
    int bits, fraction_bits, bias;
    int infinity,
        nan; /* codes without the sign; 256: none. With `is_zero_nan`: NaN is minus zero */
    bool is_zero_nan;
} small_form;

static double small(const small_form *form, int code) {
    const int sign = code >> (form->bits - 1), magnitude = code & ((1 << (form->bits - 1)) - 1);
    const int exponent = magnitude >> form->fraction_bits;
    const int fraction = magnitude & ((1 << form->fraction_bits) - 1);
    const int one = exponent ? 1 << form->fraction_bits : 0;
    if (magnitude == form->infinity) return sign ? -INFINITY : INFINITY;
    if (magnitude >= form->nan || (form->is_zero_nan && sign && magnitude == 0)) return (double)NAN;
    const double value =
        ldexp(one + fraction, (exponent ? exponent : 1) - form->bias - form->fraction_bits);
    return sign ? -value : value;
}

/* Several elements share a byte, the first in its lowest bits. */
static int packed_code(const void *data, int bits, size_t index) {
    const size_t each = (size_t)(8 / bits);
    return ((const uint8_t *)data)[index / each] >> (bits * (int)(index % each)) &
           ((1 << bits) - 1);
}

static double packed_integer(const void *data, int bits, bool is_signed, size_t index) {
    const int code = packed_code(data, bits, index), sign = 1 << (bits - 1);
    return is_signed ? (code ^ sign) - sign : code;
}

static double narrow_number(const void *data, tn_type type, size_t index) {
    static const small_form e4m3 = {8, 3, 7, 256, 0x7F, false},
                            e4m3fnuz = {8, 3, 8, 256, 256, true},
                            e5m2 = {8, 2, 15, 0x7C, 0x7D, false},
                            e5m2fnuz = {8, 2, 16, 256, 256, true},
                            e2m1 = {4, 1, 1, 256, 256, false};
    const uint8_t *bytes = data;
    switch (type) {
    case TN_F8E4M3:
        return small(&e4m3, bytes[index]);
    case TN_F8E4M3FNUZ:
        return small(&e4m3fnuz, bytes[index]);
    case TN_F8E5M2:
        return small(&e5m2, bytes[index]);
    case TN_F8E5M2FNUZ:
        return small(&e5m2fnuz, bytes[index]);
    case TN_F8E8M0:
        return bytes[index] == 0xFF ? (double)NAN : ldexp(1, bytes[index] - 127);
    case TN_F4E2M1:
        return small(&e2m1, packed_code(data, 4, index));
    case TN_I4:
    case TN_U4:
        return packed_integer(data, 4, type == TN_I4, index);
    case TN_I2:
    case TN_U2:
        return packed_integer(data, 2, type == TN_I2, index);
    default:
        return 0;
    }
}

double element_number(const void *data, tn_type type, size_t index) {
    switch (type) {
    case TN_F64:
        return ((const double *)data)[index];
    case TN_F32:
        return (double)((const float *)data)[index];
    case TN_F16:
        return half(((const uint16_t *)data)[index]);
    case TN_BF16:
        return brain(((const uint16_t *)data)[index]);
    case TN_I64:
        return (double)((const int64_t *)data)[index];
    case TN_I32:
        return ((const int32_t *)data)[index];
    case TN_I16:
        return ((const int16_t *)data)[index];
    case TN_I8:
        return ((const int8_t *)data)[index];
    case TN_U64:
        return (double)((const uint64_t *)data)[index];
    case TN_U32:
        return ((const uint32_t *)data)[index];
    case TN_U16:
        return ((const uint16_t *)data)[index];
    case TN_U8:
    case TN_BOOL:
        return ((const uint8_t *)data)[index];
    default:
        return narrow_number(data, type, index);
    }
}

const char *element_print(const void *data, tn_type type, size_t index, int digits, char *text) {
    const bool is_float =
        (type >= TN_F64 && type <= TN_BF16) || (type >= TN_F8E4M3 && type <= TN_F4E2M1);
    const double value = element_number(data, type, index);
    if (type == TN_BOOL)
        snprintf(text, ELEMENT_TEXT_BYTES, value != 0 ? "true" : "false");
    else if (type == TN_I64)
        snprintf(text, ELEMENT_TEXT_BYTES, "%" PRId64, ((const int64_t *)data)[index]);
    else if (type == TN_U64)
        snprintf(text, ELEMENT_TEXT_BYTES, "%" PRIu64, ((const uint64_t *)data)[index]);
    else if (is_float && isnan(value))
        snprintf(text, ELEMENT_TEXT_BYTES, "nan"); /* its sign says nothing */
    else
        snprintf(text, ELEMENT_TEXT_BYTES, "%.*g", is_float ? digits : 17, value);
    return text;
}

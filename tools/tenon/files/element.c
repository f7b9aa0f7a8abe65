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
        return 0;
    }
}

const char *element_print(const void *data, tn_type type, size_t index, int digits, char *text) {
    const bool is_float = type == TN_F64 || type == TN_F32 || type == TN_F16 || type == TN_BF16;
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

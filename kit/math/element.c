/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements and rows of any type; see element.h. */
#include "kit/math/element.h"

#include <math.h>
#include <tenon/plugin/string.h>
#include <wchar.h>

int64_t tn_element_count(const tn_tensor *tensor) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

double tn_element_f64_from_f16(uint16_t bits) {
    const uint64_t sign = (uint64_t)(bits & 0x8000) << 48, rest = bits & 0x7fff;
    double value;
    if (rest < 0x400) { /* zero and subnormals, in units of 2^-24 */
        value = (double)rest * 0x1p-24;
        return sign ? -value : value;
    }
    /* The exponent's bias is 1023 rather than 15; that of infinities and NaN is all ones. */
    const uint64_t wide = sign | ((rest << 42) + (UINT64_C(1008) << (rest < 0x7c00 ? 52 : 53)));
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* A double to a float of 16 bits with `fraction_bits` and the exponent bias `bias`. */
static uint16_t narrow(double value, int fraction_bits, int bias) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = (uint32_t)(bits >> 48) & 0x8000u;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction_bits;
    if (exponent == 1024 && fraction)
        return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
    if (exponent > bias) return (uint16_t)(sign | infinity);
    int lowest = 1 - bias; /* the exponent of subnormals */
    if (exponent < lowest - fraction_bits - 1) return (uint16_t)sign;
    int shift = 52 - fraction_bits + (exponent < lowest ? lowest - exponent : 0);
    uint64_t mantissa = fraction | UINT64_C(1) << 52;
    uint64_t kept = mantissa >> shift;
    uint64_t rest = mantissa & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    /* `kept` holds the leading one of normal numbers; a carry runs into the exponent rightly. */
    if (exponent >= lowest) kept += (uint64_t)(exponent + bias - 1) << fraction_bits;
    return (uint16_t)(sign | (uint32_t)kept);
}

/* With one rounding, to nearest even; too large becomes infinity, NaN stays NaN. */
static uint16_t f16_from_f64(double value) {
    return narrow(value, 10, 15);
}
static uint16_t bf16_from_f64(double value) {
    return narrow(value, 7, 127);
}

/* Limits of integers: the lowest, and the first double above the highest. */
static void integer_limits(tn_type type, double *low, double *above) {
    int bits = 8 * (int)tn_element_bytes(type);
    bool is_signed = type >= TN_I64 && type <= TN_I8;
    *low = is_signed ? -ldexp(1, bits - 1) : 0;
    *above = ldexp(1, is_signed ? bits - 1 : bits);
}

int64_t tn_element_round_i64(double value, tn_type type) {
    double low, above, nearest = nearbyint(value);
    if (isnan(value)) return 0;
    integer_limits(type, &low, &above);
    if (type == TN_U64) {
        if (nearest >= above) return -1; /* all bits set */
        return nearest <= 0 ? 0 : (int64_t)(uint64_t)nearest;
    }
    if (nearest <= low) return low == -ldexp(1, 63) ? INT64_MIN : (int64_t)low;
    if (nearest >= above) return above == ldexp(1, 63) ? INT64_MAX : (int64_t)above - 1;
    return (int64_t)nearest;
}

double tn_element_load_any_f64(const void *data, tn_type type, int64_t index) {
    switch (type) {
    case TN_F64:
        return ((const double *)data)[index];
    case TN_F32:
        return (double)((const float *)data)[index];
    case TN_F16:
        return tn_element_f64_from_f16(((const uint16_t *)data)[index]);
    case TN_BF16:
        return tn_element_f64_from_bf16(((const uint16_t *)data)[index]);
    case TN_I64:
        return (double)((const int64_t *)data)[index];
    case TN_I32:
        return (double)((const int32_t *)data)[index];
    case TN_I16:
        return (double)((const int16_t *)data)[index];
    case TN_I8:
        return (double)((const int8_t *)data)[index];
    case TN_U64:
        return (double)((const uint64_t *)data)[index];
    case TN_U32:
        return (double)((const uint32_t *)data)[index];
    case TN_U16:
        return (double)((const uint16_t *)data)[index];
    case TN_U8:
    case TN_BOOL:
        return (double)((const uint8_t *)data)[index];
    default:
        return 0;
    }
}

int64_t tn_element_load_i64(const void *data, tn_type type, int64_t index) {
    switch (type) {
    case TN_I64:
    case TN_U64:
        return ((const int64_t *)data)[index];
    case TN_I32:
        return ((const int32_t *)data)[index];
    case TN_I16:
        return ((const int16_t *)data)[index];
    case TN_I8:
        return ((const int8_t *)data)[index];
    case TN_U32:
        return ((const uint32_t *)data)[index];
    case TN_U16:
        return ((const uint16_t *)data)[index];
    case TN_U8:
    case TN_BOOL:
        return ((const uint8_t *)data)[index];
    default:
        return tn_element_round_i64(trunc(tn_element_load_f64(data, type, index)), TN_I64);
    }
}

void tn_element_store_f64(void *data, tn_type type, int64_t index, double value) {
    switch (type) {
    case TN_F64:
        ((double *)data)[index] = value;
        return;
    case TN_F32:
        ((float *)data)[index] = (float)value;
        return;
    case TN_F16:
        ((uint16_t *)data)[index] = f16_from_f64(value);
        return;
    case TN_BF16:
        ((uint16_t *)data)[index] = bf16_from_f64(value);
        return;
    case TN_BOOL:
        ((uint8_t *)data)[index] = value != 0;
        return;
    default:
        tn_element_store_i64(data, type, index, tn_element_round_i64(value, type));
        return;
    }
}

void tn_element_store_i64(void *data, tn_type type, int64_t index, int64_t value) {
    switch (type) {
    case TN_I64:
    case TN_U64:
        ((int64_t *)data)[index] = value;
        return;
    case TN_I32:
    case TN_U32:
        ((uint32_t *)data)[index] = (uint32_t)value;
        return;
    case TN_I16:
    case TN_U16:
        ((uint16_t *)data)[index] = (uint16_t)value;
        return;
    case TN_I8:
    case TN_U8:
        ((uint8_t *)data)[index] = (uint8_t)value;
        return;
    case TN_BOOL:
        ((uint8_t *)data)[index] = value != 0;
        return;
    case TN_F32:
        ((float *)data)[index] = (float)value;
        return;
    default:
        tn_element_store_f64(data, type, index, (double)value);
        return;
    }
}

void tn_element_read_f64(const void *data, tn_type type, int64_t first, int64_t step, int64_t count,
                         double *out_values) {
    if (type == TN_F32) {
        const float *from = (const float *)data + first;
        for (int64_t i = 0; i < count; i++)
            out_values[i] = (double)from[i * step];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out_values[i] = tn_element_load_any_f64(data, type, first + i * step);
}

void tn_element_write_f64(void *data, tn_type type, int64_t first, int64_t count,
                          const double *values) {
    if (type == TN_F32) {
        float *to = (float *)data + first;
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)values[i];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        tn_element_store_f64(data, type, first + i, values[i]);
}

void tn_element_moments(const tn_tensor *tensor, int64_t first, int64_t count, double *out_mean,
                        double *out_variance) {
    double sum = 0, squares = 0;
    for (int64_t i = first; i < first + count; i++)
        sum += tn_element_load_f64(tensor->data, tensor->type, i);
    const double mean = sum / (double)count;
    for (int64_t i = first; i < first + count; i++) {
        const double apart = tn_element_load_f64(tensor->data, tensor->type, i) - mean;
        squares += apart * apart;
    }
    *out_mean = mean;
    *out_variance = squares / (double)count;
}

#define FILL(type)                                                                                 \
    {                                                                                              \
        type *items = to, item;                                                                    \
        memcpy(&item, value, sizeof(item));                                                        \
        for (int64_t i = 0; i < count; i++)                                                        \
            items[i] = item;                                                                       \
        return;                                                                                    \
    }

void tn_element_fill(void *to, size_t element_bytes, int64_t count, const void *value) {
    enum { FEW = 16 }; /* the C library has wide stores, but is a call */
    wchar_t word;
    _Static_assert(sizeof(word) == 4, "wmemset fills elements of 4 bytes");
    switch (element_bytes) {
    case 1:
        if (count > 0) memset(to, *(const uint8_t *)value, (size_t)count);
        return;
    case 2:
        FILL(uint16_t)
    case 4:
        if (count < FEW) FILL(uint32_t)
        memcpy(&word, value, sizeof(word));
        wmemset(to, word, (size_t)count);
        return;
    case sizeof(tn_string):
        FILL(tn_string)
    default:
        FILL(uint64_t)
    }
}

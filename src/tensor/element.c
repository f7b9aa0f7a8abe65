/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of linear data, read and written through doubles and 64-bit integers; declared in
 * type.h. */
#include "tensor/narrow.h"
#include "tensor/type.h"

#include <math.h>
#include <string.h>

#define LOAD(c_type, out)                                                                          \
    c_type out;                                                                                    \
    memcpy(&out, (const c_type *)data + index, sizeof(out))
#define STORE(c_type, value)                                                                       \
    do {                                                                                           \
        const c_type stored = (value);                                                             \
        memcpy((c_type *)data + index, &stored, sizeof(stored));                                   \
    } while (0)

double tn_element_get_f64(const void *data, tn_type type, size_t index) {
    switch (type) {
    case TN_F64: {
        LOAD(double, v);
        return v;
    }
    case TN_F32: {
        LOAD(float, v);
        return (double)v;
    }
    case TN_F16: {
        LOAD(uint16_t, v);
        return (double)tn_f16_to_f32(v);
    }
    case TN_BF16: {
        LOAD(uint16_t, v);
        return (double)tn_bf16_to_f32(v);
    }
    case TN_U64: {
        LOAD(uint64_t, v);
        return (double)v;
    }
    default:
        return tn_narrow_is_float(type) ? tn_narrow_get_float(data, type, index)
                                        : (double)tn_element_get_i64(data, type, index);
    }
}

static int64_t saturate_i64(double value) {
    if (isnan(value)) return 0;
    if (value >= 0x1p63) return INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

int64_t tn_element_get_i64(const void *data, tn_type type, size_t index) {
    switch (type) {
    case TN_I64: {
        LOAD(int64_t, v);
        return v;
    }
    case TN_I32: {
        LOAD(int32_t, v);
        return v;
    }
    case TN_I16: {
        LOAD(int16_t, v);
        return v;
    }
    case TN_I8: {
        LOAD(int8_t, v);
        return v;
    }
    case TN_U64: {
        LOAD(uint64_t, v);
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    case TN_U32: {
        LOAD(uint32_t, v);
        return v;
    }
    case TN_U16: {
        LOAD(uint16_t, v);
        return v;
    }
    case TN_U8: {
        LOAD(uint8_t, v);
        return v;
    }
    case TN_BOOL: {
        LOAD(uint8_t, v);
        return v != 0;
    }
    default:
        if (tn_narrow_is_integer(type)) return tn_narrow_get_integer(data, type, index);
        return tn_type_is_float(type) ? saturate_i64(tn_element_get_f64(data, type, index)) : 0;
    }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* One rounding from double to bfloat16: to float toward odd, so that the second rounding sees what
 * was cut. */
static uint16_t f64_to_bf16(double value) {
    float nearest = (float)value;
    if (isfinite(nearest) && (double)nearest != value) {
        uint32_t bits;
        memcpy(&bits, &nearest, sizeof(bits));
        if (fabs((double)nearest) > fabs(value)) bits--; /* now truncated */
        bits |= 1;
        memcpy(&nearest, &bits, sizeof(bits));
    }
    return tn_f32_to_bf16(nearest);
}

void tn_element_set_f64(void *data, tn_type type, size_t index, double value) {
    switch (type) {
    case TN_F64:
        STORE(double, value);
        break;
    case TN_F32:
        STORE(float, (float)value);
        break;
    case TN_F16:
        STORE(uint16_t, tn_f64_to_f16(value));
        break;
    case TN_BF16:
        STORE(uint16_t, f64_to_bf16(value));
        break;
    case TN_BOOL:
        STORE(uint8_t, value != 0);
        break;
    case TN_U64:
        STORE(uint64_t, !(value > 0)      ? 0
                        : value >= 0x1p64 ? UINT64_MAX
                                          : (uint64_t)nearbyint(value));
        break;
    default:
        if (tn_narrow_is_float(type))
            tn_narrow_set_float(data, type, index, value);
        else
            tn_element_set_i64(data, type, index, saturate_i64(nearbyint(value)));
        break;
    }
}

void tn_element_set_i64(void *data, tn_type type, size_t index, int64_t value) {
    switch (type) {
    case TN_I64:
        STORE(int64_t, value);
        break;
    case TN_I32:
        STORE(int32_t, (int32_t)clamp(value, INT32_MIN, INT32_MAX));
        break;
    case TN_I16:
        STORE(int16_t, (int16_t)clamp(value, INT16_MIN, INT16_MAX));
        break;
    case TN_I8:
        STORE(int8_t, (int8_t)clamp(value, INT8_MIN, INT8_MAX));
        break;
    case TN_U64:
        STORE(uint64_t, value < 0 ? 0 : (uint64_t)value);
        break;
    case TN_U32:
        STORE(uint32_t, (uint32_t)clamp(value, 0, UINT32_MAX));
        break;
    case TN_U16:
        STORE(uint16_t, (uint16_t)clamp(value, 0, UINT16_MAX));
        break;
    case TN_U8:
        STORE(uint8_t, (uint8_t)clamp(value, 0, UINT8_MAX));
        break;
    case TN_BOOL:
        STORE(uint8_t, value != 0);
        break;
    default:
        if (tn_narrow_is_integer(type))
            tn_narrow_set_integer(data, type, index, value);
        else if (tn_type_is_float(type))
            tn_element_set_f64(data, type, index, (double)value);
        break;
    }
}

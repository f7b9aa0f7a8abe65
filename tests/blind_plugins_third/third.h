/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugins of this folder share: elements of every type in double precision, and the
 * beginnings of their tables. */
#ifndef THIRD_H
#define THIRD_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

static inline int64_t width_of(tn_type type) {
    switch (type) {
    case TN_F64:
    case TN_I64:
    case TN_U64:
        return 8;
    case TN_F32:
    case TN_I32:
    case TN_U32:
        return 4;
    case TN_F16:
    case TN_BF16:
    case TN_I16:
    case TN_U16:
        return 2;
    default:
        return 1;
    }
}

static inline float half_to_float(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31;
    const uint32_t mantissa = bits & 1023;
    uint32_t out = sign | 0x7f800000u | mantissa << 13;
    float value;
    if (exponent == 0) {
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    if (exponent < 31) out = sign | (exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &out, 4);
    return value;
}
/* To the nearest, ties to even. */
static inline uint16_t float_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const float size = fabsf(value);
    if (isnan(value)) return (uint16_t)(sign | 0x7e00);
    if (size >= 65520.0f) return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14f) return (uint16_t)(sign | (uint16_t)rintf(size * 0x1p24f));
    bits &= 0x7fffffff;
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | (uint16_t)((bits >> 13) - (112u << 10)));
}
static inline float brain_to_float(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}
static inline uint16_t float_to_brain(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Elements of floats, and of integers of at most 32 bits. */
static inline double load_number(const tn_tensor *tensor, int64_t i) {
    switch (tensor->type) {
    case TN_F16:
        return (double)half_to_float(((const uint16_t *)tensor->data)[i]);
    case TN_BF16:
        return (double)brain_to_float(((const uint16_t *)tensor->data)[i]);
    case TN_I16:
        return (double)((const int16_t *)tensor->data)[i];
    case TN_U16:
        return (double)((const uint16_t *)tensor->data)[i];
    case TN_U32:
        return (double)((const uint32_t *)tensor->data)[i];
    default:
        return tn_layer_load(tensor, i);
    }
}
static inline void store_float(const tn_tensor *tensor, int64_t i, double value) {
    if (tensor->type == TN_F16)
        ((uint16_t *)tensor->data)[i] = float_to_half((float)value);
    else if (tensor->type == TN_BF16)
        ((uint16_t *)tensor->data)[i] = float_to_brain((float)value);
    else
        tn_layer_store(tensor, i, value);
}
/* An index, of i32 or i64. */
static inline int64_t load_index(const tn_tensor *tensor, int64_t i) {
    return tensor->type == TN_I32 ? ((const int32_t *)tensor->data)[i]
                                  : ((const int64_t *)tensor->data)[i];
}
static inline tn_tensor *output_of(const tn_call *call, uint32_t output) {
    return output < call->output_count ? call->outputs[output] : NULL;
}

/* The product of extents from..to-1. */
static inline int64_t extents_of(const tn_tensor *tensor, uint32_t from, uint32_t to) {
    uint64_t count = 1;
    for (uint32_t i = from; i < to; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}
static inline tn_status same_as(tn_call *call, uint32_t output, const tn_tensor *tensor) {
    return tn_layer_set_shape(call, output, tensor->rank, tensor->shape);
}

#define THIRD_OPERATOR(text)                                                                       \
    .size = sizeof(tn_operator), .since_version = 1, .domain = "Third", .name = text,              \
    .infer = infer, .reference = reference, TN_INPUTS(inputs), TN_OUTPUTS(outputs),                \
    TN_CASES(cases)
#define THIRD_KERNEL(op_name, text)                                                                \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "Third", .op = op_name, .device = "cpu",   \
    .name = text
#define THIRD_LIBRARY(text, first, ...)                                                            \
    static const tn_operator *const third_operators[] = {&first};                                  \
    static const tn_kernel *const third_kernels[] = {__VA_ARGS__};                                 \
    TN_LIBRARY("third_" text, "1.0", third_operators, third_kernels)

#endif

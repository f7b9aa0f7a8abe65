/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugins of this folder share: elements of any type, and the tables. */
#ifndef SECOND_H
#define SECOND_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin.h>

#define IS(number) (MISTAKE == (number))

static inline int64_t product(const tn_tensor *t, uint32_t from, uint32_t to) {
    int64_t count = 1;
    for (uint32_t i = from; i < to; i++)
        count *= t->shape[i];
    return count;
}
static inline int64_t elements(const tn_tensor *t) {
    return product(t, 0, t->rank);
}
static inline void same_shape(tn_call *call, uint32_t output, uint32_t input) {
    tn_tensor *y = call->outputs[output];
    const tn_tensor *x = call->inputs[input];
    if (!y) return;
    y->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        y->shape[i] = x->shape[i];
}

static inline double bf16_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return (double)value;
}
static inline uint16_t bf16_bits(double real) {
    /* to f32 by rounding to odd, so that there is one rounding alone */
    float value = (float)real;
    uint32_t wide;
    memcpy(&wide, &value, 4);
    if (isnan(real)) return (uint16_t)(wide >> 16 | 0x40);
    if (isfinite(value) && (double)value != real) {
        if (fabs((double)value) > fabs(real)) wide--;
        wide |= 1;
    }
    if (isinf(value)) return (uint16_t)(wide >> 16);
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

/* Element i of a tensor, for types that a double holds. */
static inline double get(const tn_tensor *t, int64_t i) {
    switch (t->type) {
    case TN_F64:
        return ((const double *)t->data)[i];
    case TN_F32:
        return (double)((const float *)t->data)[i];
    case TN_F16:
        return (double)((const _Float16 *)t->data)[i];
    case TN_BF16:
        return bf16_value(((const uint16_t *)t->data)[i]);
    default:
        return 0;
    }
}
static inline void set(const tn_tensor *t, int64_t i, double v) {
    switch (t->type) {
    case TN_F64:
        ((double *)t->data)[i] = v;
        break;
    case TN_F32:
        ((float *)t->data)[i] = (float)v;
        break;
    case TN_F16:
        ((_Float16 *)t->data)[i] = (_Float16)v;
        break;
    case TN_BF16:
        ((uint16_t *)t->data)[i] = bf16_bits(v);
        break;
    default:
        break;
    }
}
/* The same for integers. */
static inline int64_t get_integer(const tn_tensor *t, int64_t i) {
    switch (t->type) {
    case TN_I64:
        return ((const int64_t *)t->data)[i];
    case TN_I32:
        return ((const int32_t *)t->data)[i];
    case TN_I16:
        return ((const int16_t *)t->data)[i];
    case TN_I8:
        return ((const int8_t *)t->data)[i];
    case TN_U64:
        return (int64_t)((const uint64_t *)t->data)[i];
    case TN_U32:
        return ((const uint32_t *)t->data)[i];
    case TN_U16:
        return ((const uint16_t *)t->data)[i];
    case TN_U8:
    case TN_BOOL:
        return ((const uint8_t *)t->data)[i];
    default:
        return 0;
    }
}
static inline void set_integer(const tn_tensor *t, int64_t i, int64_t v) {
    switch (t->type) {
    case TN_I64:
    case TN_U64:
        ((int64_t *)t->data)[i] = v;
        break;
    case TN_I32:
    case TN_U32:
        ((uint32_t *)t->data)[i] = (uint32_t)v;
        break;
    case TN_I16:
    case TN_U16:
        ((uint16_t *)t->data)[i] = (uint16_t)v;
        break;
    case TN_I8:
    case TN_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)v;
        break;
    case TN_BOOL:
        ((uint8_t *)t->data)[i] = v != 0;
        break;
    default:
        break;
    }
}
static inline bool is_float(tn_type type) {
    return type >= TN_F64 && type <= TN_BF16;
}
static inline size_t type_bytes(tn_type type) {
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

#define OPTION(params, member, type, fallback, low, high, doc)                                     \
    TN_FIELD_RANGE(params, member, type, TN_OPTIONAL, fallback, low, high, doc)

#ifndef DOMAIN
#define DOMAIN "Second"
#endif
#ifndef STATE_VERSION
#define STATE_VERSION 1
#endif
#define OPERATOR(op_name, text, ...)                                                               \
    static const tn_operator the_operator = {.size = sizeof(tn_operator),                          \
                                             .since_version = 1,                                   \
                                             .state_version = STATE_VERSION,                       \
                                             .domain = DOMAIN,                                     \
                                             .name = op_name,                                      \
                                             .doc = text,                                          \
                                             .infer = infer,                                       \
                                             .reference = reference,                               \
                                             TN_INPUTS(inputs),                                    \
                                             TN_OUTPUTS(outputs),                                  \
                                             TN_CASES(cases),                                      \
                                             __VA_ARGS__};
#define KERNEL(op_name, ...)                                                                       \
    static const tn_kernel the_kernel = {.size = sizeof(tn_kernel),                                \
                                         .revision = 1,                                            \
                                         .domain = DOMAIN,                                         \
                                         .op = op_name,                                            \
                                         .device = "cpu",                                          \
                                         .name = "loops",                                          \
                                         .doc = "Plain loops.",                                    \
                                         TN_COMBINATIONS(combinations),                            \
                                         .run = run,                                               \
                                         __VA_ARGS__};
#define LIBRARY(library_name)                                                                      \
    static const tn_operator *const operators[] = {&the_operator};                                 \
    static const tn_kernel *const kernels[] = {&the_kernel};                                       \
    TN_LIBRARY(library_name, "1.0", operators, kernels)
#endif

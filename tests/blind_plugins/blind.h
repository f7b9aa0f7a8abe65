/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the layers of this folder share: MISTAKE, the number of the one mistake that is compiled in
 * (0: none; from 50 on: unusual and right), elements of every type in double precision, and the
 * tables in fewer words. See mistakes.tsv for what each number is.
 */
#ifndef TENON_BLIND_H
#define TENON_BLIND_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif
#define IS(number) (MISTAKE == (number))

static inline double half_to_double(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static inline uint16_t half_from_double(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    int exponent = 0;
    if (isnan(value)) return 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14) return sign | (uint16_t)rint(size * 0x1p24);
    frexp(size, &exponent);
    return sign | (uint16_t)(((exponent + 13) << 10) + (int)rint(ldexp(size, 11 - exponent)));
}

static inline float brain_to_float(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static inline uint16_t brain_from_float(float value) {
    uint32_t wide;
    memcpy(&wide, &value, 4);
    if (isnan(value)) return 0x7fc0;
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

/* A real number from double precision to bf16, rounded once. */
static inline uint16_t brain_from_double(double value) {
    float near = (float)value;
    uint32_t wide;
    memcpy(&wide, &near, 4);
    if (isfinite(near) && (double)near != value && (wide & 0xffff) == 0x8000)
        near = nextafterf(near, value > (double)near ? INFINITY : -INFINITY);
    return brain_from_float(near);
}

static inline double get(const tn_tensor *t, int64_t i) {
    switch (t->type) {
    case TN_F16:
        return half_to_double(((const uint16_t *)t->data)[i]);
    case TN_BF16:
        return brain_to_float(((const uint16_t *)t->data)[i]);
    case TN_U16:
        return ((const uint16_t *)t->data)[i];
    case TN_I16:
        return ((const int16_t *)t->data)[i];
    case TN_U32:
        return ((const uint32_t *)t->data)[i];
    default:
        return tn_layer_load(t, i);
    }
}

static inline void set(const tn_tensor *t, int64_t i, double value) {
    if (t->type == TN_F16)
        ((uint16_t *)t->data)[i] = half_from_double(value);
    else if (t->type == TN_BF16)
        ((uint16_t *)t->data)[i] = brain_from_double(value);
    else
        tn_layer_store(t, i, value);
}

static inline int64_t count_of(const tn_tensor *t) {
    return tn_layer_count(t);
}

static inline tn_status same_shape(tn_call *call, uint32_t input, uint32_t output) {
    return tn_layer_set_shape(call, output, call->inputs[input]->rank, call->inputs[input]->shape);
}

/* The product of the extents first..end-1. */
static inline int64_t product(const tn_tensor *t, uint32_t first, uint32_t end) {
    uint64_t count = 1;
    for (uint32_t i = first; i < end; i++)
        count *= (uint64_t)t->shape[i];
    return (int64_t)count;
}

/* The operator of a file, from its `fields`, `inputs`, `outputs`, `infer`, `reference`, `cases`. */
#define BLIND_OPERATOR(op_name, text, params, ...)                                                 \
    static const tn_operator blind_operator = {.size = sizeof(tn_operator),                        \
                                               .since_version = 1,                                 \
                                               .state_version = 1,                                 \
                                               .domain = "Blind",                                  \
                                               .name = op_name,                                    \
                                               .doc = text,                                        \
                                               TN_FIELDS(params, fields),                          \
                                               TN_INPUTS(inputs),                                  \
                                               TN_OUTPUTS(outputs),                                \
                                               .infer = infer,                                     \
                                               .reference = reference,                             \
                                               TN_CASES(cases),                                    \
                                               __VA_ARGS__};

/* Its kernel, from `combinations` and `run`, and the library. */
#define BLIND_KERNEL(op_name, ...)                                                                 \
    static const tn_kernel blind_kernel = {.size = sizeof(tn_kernel),                              \
                                           .revision = 1,                                          \
                                           .domain = "Blind",                                      \
                                           .op = op_name,                                          \
                                           .device = "cpu",                                        \
                                           .name = "plain",                                        \
                                           TN_COMBINATIONS(combinations),                          \
                                           .run = run,                                             \
                                           __VA_ARGS__};
#define BLIND_LIBRARY(library_name)                                                                \
    static const tn_operator *const operators[] = {&blind_operator};                               \
    static const tn_kernel *const kernels[] = {&blind_kernel};                                     \
    TN_LIBRARY(library_name, "1.0", operators, kernels)

#endif

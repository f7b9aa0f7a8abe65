/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef SEVENTEENTH_H
#define SEVENTEENTH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>
#include <tenon/plugin/try.h>

#define WRONG(number) (MISTAKE == (number))
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Seventeenth"
#define KERNEL .size = sizeof(tn_kernel), .revision = 1, .domain = "Seventeenth"
#define LIBRARY(name, of_operator, of_kernel)                                                      \
    static const tn_operator *const operators[] = {&(of_operator)};                                \
    static const tn_kernel *const kernels[] = {&(of_kernel)};                                      \
    TN_LIBRARY(name, "1.0", operators, kernels)

/* The elements along axes begin..end-1. */
static inline int64_t extent(const tn_tensor *tensor, uint32_t begin, uint32_t end) {
    uint64_t count = 1;
    for (uint32_t i = begin; i < end; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

/* An output, null where nobody asked for it. */
static inline tn_tensor *output(const tn_call *call, uint32_t index) {
    return index < call->output_count ? call->outputs[index] : NULL;
}

static inline tn_status set_shape(tn_call *call, uint32_t index, uint32_t rank,
                                  const int64_t *shape) {
    return output(call, index) ? tn_layer_set_shape(call, index, rank, shape) : TN_OK;
}

static inline tn_status infer_same(tn_call *call) {
    return set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

/* Fails where an input has a rank below `least`. */
static inline tn_status require_rank(tn_call *call, uint32_t input, uint32_t least) {
    if (call->inputs[input]->rank >= least) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has rank %u, expected %u or more",
                            tn_layer_port_name(call, input), call->inputs[input]->rank, least);
}

/* 16-bit floats; values are rounded to the nearest, ties to even. */
static inline double half_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value;
    if (exponent == 31)
        value = mantissa ? (double)NAN : (double)INFINITY;
    else
        value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return bits >> 15 ? -value : value;
}

static inline uint16_t half_bits(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    value = fabs(value);
    if (isnan(value)) return (uint16_t)(sign | 0x7E00);
    if (value >= 65520) return (uint16_t)(sign | 0x7C00);
    if (value < ldexp(1, -14)) return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(value, 24)));
    int exponent;
    frexp(value, &exponent);
    /* Rounding up to the next power of two carries into the exponent. */
    const uint32_t mantissa = (uint32_t)nearbyint(ldexp(value, 11 - exponent));
    return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + mantissa));
}

/* Elements of floating-point tensors, as tn_layer_load and tn_layer_store, of TN_F16 as well. */
static inline double real_load(const tn_tensor *tensor, int64_t i) {
    if (tensor->type == TN_F16) return half_value(((const uint16_t *)tensor->data)[i]);
    return tn_layer_load(tensor, i);
}
static inline void real_store(const tn_tensor *tensor, int64_t i, double value) {
    if (tensor->type == TN_F16)
        ((uint16_t *)tensor->data)[i] = half_bits(value);
    else
        tn_layer_store(tensor, i, value);
}

/* Where element (n, c, inner) of a tensor lies: axes 0 and 1, and all others together. */
static inline int64_t position(const tn_tensor *t, int64_t n, int64_t c, int64_t inner) {
    int64_t of_channel = c * t->strides[1];
    if ((t->format & 255) == TN_LAYOUT_BLOCKED) {
        const int64_t block = t->format >> 16;
        of_channel = c / block * t->strides[1] + c % block;
    }
    return n * t->strides[0] + of_channel + (t->rank > 2 ? inner * t->strides[t->rank - 1] : 0);
}

/* The channels of a tensor that are in memory: of a blocked format whole blocks. */
static inline int64_t stored_channels(const tn_tensor *t) {
    const int64_t block = (t->format & 255) == TN_LAYOUT_BLOCKED ? t->format >> 16 : 1;
    return (t->shape[1] + block - 1) / block * block;
}

#endif

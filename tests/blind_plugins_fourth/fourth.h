/* SPDX-License-Identifier: Apache-2.0 */
/* What the libraries of this folder have in common: their tables in fewer words. */
#ifndef BLIND_FOURTH_H
#define BLIND_FOURTH_H

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

/* The operator of the tables and functions `inputs`, `outputs`, `cases`, `infer`, `reference`. */
#define FOURTH_OPERATOR(op_name, text, ...)                                                        \
    static const tn_operator the_operator = {.size = sizeof(tn_operator),                          \
                                             .since_version = 1,                                   \
                                             .domain = "Fourth",                                   \
                                             .name = op_name,                                      \
                                             .doc = text,                                          \
                                             TN_INPUTS(inputs),                                    \
                                             TN_OUTPUTS(outputs),                                  \
                                             TN_CASES(cases),                                      \
                                             .infer = infer,                                       \
                                             .reference = reference,                               \
                                             __VA_ARGS__};                                         \
    static const tn_operator *const operators[] = {&the_operator};

#define FOURTH_KERNEL(variable, op_name, kernel_name, ...)                                         \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Fourth",                                         \
                                       .op = op_name,                                              \
                                       .device = "cpu",                                            \
                                       .name = kernel_name,                                        \
                                       __VA_ARGS__};

/* Output `output` has the shape of input `input`. */
static inline tn_status fourth_same(tn_call *call, uint32_t input, uint32_t output) {
    return tn_layer_set_shape(call, output, call->inputs[input]->rank, call->inputs[input]->shape);
}

/* The product of extents from..to-1. */
static inline int64_t fourth_extent(const tn_tensor *tensor, uint32_t from, uint32_t to) {
    uint64_t product = 1;
    for (uint32_t i = from; i < to; i++)
        product *= (uint64_t)tensor->shape[i];
    return (int64_t)product;
}

/* An output, null where it is not requested. */
static inline tn_tensor *fourth_output(const tn_call *call, uint32_t output) {
    return output < call->output_count ? call->outputs[output] : NULL;
}

/* Bytes of an element. */
static inline size_t fourth_bytes(tn_type type) {
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

#endif

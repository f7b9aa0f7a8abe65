/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/layer.h: shorthand for authors over tenon/plugin.h, which it includes and adds nothing to:
 * the heads of the tables, shapes, and elements read and written in double precision, for
 * references. All of it is compiled into the plugin; nothing here is part of the contract between
 * binaries. A reader of examples/ sees it in use.
 */
#ifndef TENON_LAYER_H
#define TENON_LAYER_H

#include <tenon/plugin.h>

/* An operator of version 1: `static const tn_operator variable`. Its name, then what else the table
 * says, in the order of tn_operator:
 *     TN_LAYER_OPERATOR(soft_clip, "Test", "SoftClip", "A smooth clip.", TN_FIELDS(params, fields),
 *                       TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference =
 *                       reference, TN_CASES(cases)); */
#define TN_LAYER_OPERATOR(variable, of_domain, of_name, text, ...)                                 \
    static const tn_operator variable = {.size = sizeof(tn_operator),                              \
                                         .since_version = 1,                                       \
                                         .state_version = 1,                                       \
                                         .domain = of_domain,                                      \
                                         .name = of_name,                                          \
                                         .doc = text,                                              \
                                         __VA_ARGS__}

/* A deterministic kernel of revision 1 on the processor for that operator, likewise:
 *     TN_LAYER_KERNEL(soft_clip_cpu, "Test", "SoftClip", "rows", TN_COMBINATIONS(combinations),
 *                     .run = run); */
#define TN_LAYER_KERNEL(variable, of_domain, of_operator, kernel_name, ...)                        \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = of_domain,                                        \
                                       .op = of_operator,                                          \
                                       .device = "cpu",                                            \
                                       .name = kernel_name,                                        \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       __VA_ARGS__}

/* A library of one operator and one kernel, no semicolon. More of them: TN_LIBRARY. */
#define TN_LAYER_LIBRARY(library_name, library_version, operator_variable, kernel_variable)        \
    static const tn_operator *const tn_layer_operators[] = {&operator_variable};                   \
    static const tn_kernel *const tn_layer_kernels[] = {&kernel_variable};                         \
    TN_LIBRARY(library_name, library_version, tn_layer_operators, tn_layer_kernels)

#ifdef __cplusplus
extern "C" {
#endif

/* Sets rank and shape of an output, in a shape rule, to `rank` extents, at most TN_MAX_RANK. */
static inline tn_status tn_layer_set_shape(tn_call *call, uint32_t output, uint32_t rank,
                                           const int64_t *shape) {
    call->outputs[output]->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        call->outputs[output]->shape[i] = shape[i];
    return TN_OK;
}

/* The number of elements. */
static inline int64_t tn_layer_count(const tn_tensor *tensor) {
    uint64_t count = 1; /* the extents before a zero may have a product beyond int64 */
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

/* Element `index` of a linear tensor of f64, f32, integers of 32 and 64 bits, bytes or bool; of
 * another type: not a number. */
static inline double tn_layer_load(const tn_tensor *tensor, int64_t index) {
    switch (tensor->type) {
    case TN_F64:
        return ((const double *)tensor->data)[index];
    case TN_F32:
        return (double)((const float *)tensor->data)[index];
    case TN_I64:
        return (double)((const int64_t *)tensor->data)[index];
    case TN_I32:
        return (double)((const int32_t *)tensor->data)[index];
    case TN_I8:
        return (double)((const int8_t *)tensor->data)[index];
    case TN_U8:
    case TN_BOOL:
        return (double)((const uint8_t *)tensor->data)[index];
    default:
        return __builtin_nan("");
    }
}

/* Writes an element of a linear tensor of f64 or f32; of another type: nothing. */
static inline void tn_layer_store(const tn_tensor *tensor, int64_t index, double value) {
    if (tensor->type == TN_F64)
        ((double *)tensor->data)[index] = value;
    else if (tensor->type == TN_F32)
        ((float *)tensor->data)[index] = (float)value;
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a folder of layers/ offers: its operators (one entry a version), kernels and rewrites. The
 * build collects them by folder name: layers/conv/operator.c defines `const tn_layer
 * tn_layer_conv`. Beside it the beginnings of the tables of operators and kernels,
 * and what nearly all operators read with: elements and the helpers of shape rules.
 */
#ifndef TN_KIT_OPERATOR_LAYER_H
#define TN_KIT_OPERATOR_LAYER_H

#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/levels.h>
#include <tenon/plugin/rewrite.h>

typedef struct tn_layer {
    uint64_t operator_count;
    const tn_operator *const *operators;
    uint64_t kernel_count;
    const tn_kernel *const *kernels;
    uint64_t rewrite_count;
    const tn_rewrite *const *rewrites;
    /* Null, or more kernels, beside each other, which it makes at its first call: they are
     * registered before the others. [thread: any] */
    const tn_kernel *(*make_kernels)(uint64_t *out_count);
} tn_layer;

extern const tn_layer *const tn_layer_table[]; /* null-terminated */

/* An input of a node that is there, and known before a run; else null. */
static inline const tn_tensor *tn_layer_known_input(const tn_call *call, uint32_t input) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    return tensor && tensor->data ? tensor : NULL;
}

/* A library's `load`: registers all of a null-terminated table. */
tn_status tn_layers_register(const tn_host *host, tn_library *library,
                             const tn_layer *const *layers);

#define TN_LAYER(folder, operator_table, kernel_table)                                             \
    extern const tn_layer tn_layer_##folder;                                                       \
    const tn_layer tn_layer_##folder = {TN_COUNT(operator_table),                                  \
                                        operator_table,                                            \
                                        TN_COUNT(kernel_table),                                    \
                                        kernel_table,                                              \
                                        0,                                                         \
                                        NULL,                                                      \
                                        NULL}
#define TN_LAYER_WITH_REWRITES(folder, operator_table, kernel_table, rewrite_table)                \
    extern const tn_layer tn_layer_##folder;                                                       \
    const tn_layer tn_layer_##folder = {TN_COUNT(operator_table),                                  \
                                        operator_table,                                            \
                                        TN_COUNT(kernel_table),                                    \
                                        kernel_table,                                              \
                                        TN_COUNT(rewrite_table),                                   \
                                        rewrite_table,                                             \
                                        NULL}
#define TN_LAYER_WITHOUT_KERNELS(folder, operator_table)                                           \
    extern const tn_layer tn_layer_##folder;                                                       \
    const tn_layer tn_layer_##folder = {                                                           \
        TN_COUNT(operator_table), operator_table, 0, NULL, 0, NULL, NULL}

/* Tables where they are used: TN_LAYER(lrn, TN_OPERATORS(&lrn_1), tn_lrn_kernels). */
#define TN_OPERATORS(...) ((const tn_operator *const[]){__VA_ARGS__})
#define TN_KERNELS(...)   ((const tn_kernel *const[]){__VA_ARGS__})

/* ----------------------------------------------------------------------------------------------
 * operators */

/* The members with which an operator's table begins. The domain "" is ONNX's own. */
#define TN_OPERATOR_BEGIN(domain_name, operator_name, version, words)                              \
    .size = sizeof(tn_operator), .since_version = version, .state_version = 1,                     \
    .domain = domain_name, .name = operator_name, .doc = words

/* The table of an operator whose shape rule is PREFIX_infer, whose reference is PREFIX_reference,
 * and which has PREFIX_inputs, PREFIX_outputs and PREFIX_cases. Its fields and what else it has are
 * members that follow. */
#define TN_OPERATOR_TABLE(prefix, domain_name, operator_name, version, words, ...)                 \
    {                                                                                              \
        TN_OPERATOR_BEGIN(domain_name, operator_name, version, words), TN_INPUTS(prefix##_inputs), \
            TN_OUTPUTS(prefix##_outputs), TN_CASES(prefix##_cases),                                \
            .infer = prefix##_infer, .reference = prefix##_reference, __VA_ARGS__                  \
    }

/* Defines it as PREFIX_VERSION. */
#define TN_OPERATOR(prefix, domain_name, operator_name, version, words, ...)                       \
    static const tn_operator prefix##_##version =                                                  \
        TN_OPERATOR_TABLE(prefix, domain_name, operator_name, version, words, __VA_ARGS__)

/* The same for a version of an operator whose ports and cases are members that follow as well. */
#define TN_OPERATOR_VERSION(prefix, domain_name, operator_name, version, words, ...)               \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN(domain_name, operator_name, version, words), .infer = prefix##_infer,    \
        .reference = prefix##_reference, __VA_ARGS__}

/* ----------------------------------------------------------------------------------------------
 * kernels */

/* A kernel as another one, of an operator and a processor level. */
static inline tn_kernel tn_kernel_like(const tn_kernel *like, const char *op, const char *name,
                                       const char *features, void *user) {
    tn_kernel kernel = *like;
    kernel.op = op;
    kernel.name = name;
    kernel.requires_features = features;
    kernel.user = user;
    return kernel;
}

/* The members with which a kernel's table begins. */
#define TN_KERNEL_BEGIN(device_name, domain_name, operator_name, kernel_name, number, words)       \
    .size = sizeof(tn_kernel), .revision = number, .domain = domain_name, .op = operator_name,     \
    .device = device_name, .name = kernel_name, .doc = words

/* Defines a kernel on the processor that is deterministic and has one revision so far. What else it
 * has are members that follow. */
#define TN_CPU_KERNEL(symbol, domain_name, operator_name, kernel_name, words, ...)                 \
    TN_CPU_KERNEL_OF(symbol, TN_KERNEL_DETERMINISTIC, domain_name, operator_name, kernel_name,     \
                     words, __VA_ARGS__)
/* The same with more traits than that. */
#define TN_CPU_KERNEL_OF(symbol, kernel_traits, domain_name, operator_name, kernel_name, words,    \
                         ...)                                                                      \
    static const tn_kernel symbol = {                                                              \
        TN_KERNEL_BEGIN("cpu", domain_name, operator_name, kernel_name, 1, words),                 \
        .traits = kernel_traits, __VA_ARGS__}

/* Defines the callbacks PREFIX_reference and PREFIX_run of an operator that one function computes,
 * compute(call, is_parallel): on one thread for the reference, on all for its kernel. */
#define TN_SERIAL_AND_PARALLEL(prefix, compute)                                                    \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return compute(call, false);                                                               \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return compute(call, true);                                                                \
    }

/* Defines PREFIX_baseline, PREFIX_avx2 and PREFIX_avx512, a kernel for each of these levels
 * (tenon/kit/levels.h) named after it. Its `user` is TABLE_LEVEL; what else it has are members that
 * follow. */
#define TN_LEVEL_KERNELS(prefix, table, operator_name, kernel_name, words, ...)                    \
    TN_LEVEL_KERNELS_IN("", prefix, table, operator_name, kernel_name, words, __VA_ARGS__)
#define TN_LEVEL_KERNEL(level, prefix, table, operator_name, kernel_name, words, ...)              \
    TN_LEVEL_KERNEL_IN("", level, prefix, table, operator_name, kernel_name, words, __VA_ARGS__)
#define TN_LEVEL_TABLE(level, table, operator_name, kernel_name, words, ...)                       \
    TN_LEVEL_TABLE_OF(1, level, table, operator_name, kernel_name, words, __VA_ARGS__)
/* The same with a revision of its own. */
#define TN_LEVEL_TABLE_OF(number, level, table, operator_name, kernel_name, words, ...)            \
    TN_LEVEL_TABLE_IN("", number, level, table, operator_name, kernel_name, words, __VA_ARGS__)
/* The same of another domain than ONNX's. */
#define TN_LEVEL_KERNELS_IN(domain, prefix, table, operator_name, kernel_name, words, ...)         \
    TN_LEVEL_KERNEL_IN(domain, baseline, prefix, table, operator_name, kernel_name, words,         \
                       __VA_ARGS__);                                                               \
    TN_LEVEL_KERNEL_IN(domain, avx2, prefix, table, operator_name, kernel_name, words,             \
                       __VA_ARGS__);                                                               \
    TN_LEVEL_KERNEL_IN(domain, avx512, prefix, table, operator_name, kernel_name, words,           \
                       __VA_ARGS__)
#define TN_LEVEL_KERNEL_IN(domain, level, prefix, table, operator_name, kernel_name, words, ...)   \
    static const tn_kernel prefix##_##level =                                                      \
        TN_LEVEL_TABLE_IN(domain, 1, level, table, operator_name, kernel_name, words, __VA_ARGS__)
#define TN_LEVEL_TABLE_IN(domain, number, level, table, operator_name, kernel_name, words, ...)    \
    {                                                                                              \
        TN_KERNEL_BEGIN("cpu", domain, operator_name, kernel_name "_" #level, number, words),      \
            .requires_features = TN_KIT_FEATURES_##level,                                          \
            .user = (void *)(uintptr_t)&table##_##level, __VA_ARGS__                               \
    }
/* Their pointers, for a table. */
#define TN_LEVEL_LIST(prefix) &prefix##_avx512, &prefix##_avx2, &prefix##_baseline

/* Defines a rewrite (tenon/plugin/rewrite.h) whose pattern, replacement and cases are its members.
 */
#define TN_REWRITE(symbol, rewrite_name, words, ...)                                               \
    static const tn_rewrite symbol = {                                                             \
        .size = sizeof(tn_rewrite), .name = rewrite_name, .doc = words, __VA_ARGS__}

/* The kernels of a folder on CUDA: the array that src/device/cuda collects. */
#define TN_CUDA_LAYER(folder, ...)                                                                 \
    extern const tn_kernel *const tn_##folder##_cuda_kernels[];                                    \
    const tn_kernel *const tn_##folder##_cuda_kernels[] = {__VA_ARGS__, NULL}

#endif

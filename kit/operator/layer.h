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
                                       const char *features, const void *user) {
    tn_kernel kernel = *like;
    kernel.size = sizeof(tn_kernel);
    kernel.op = op;
    kernel.name = name;
    kernel.requires_features = features;
    kernel.user = (void *)(uintptr_t)user;
    return kernel;
}

/* The members with which a kernel's table begins. */
#define TN_KERNEL_BEGIN(device_name, domain_name, operator_name, kernel_name, number, words)       \
    .size = sizeof(tn_kernel),                                                                     \
    TN_KERNEL_NAMES(device_name, domain_name, operator_name, kernel_name, number, words)
#define TN_KERNEL_NAMES(device_name, domain_name, operator_name, kernel_name, number, words)       \
    .revision = number, .domain = domain_name, .op = operator_name, .device = device_name,         \
    .name = kernel_name, .doc = words

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

/* ----------------------------------------------------------------------------------------------
 * kernels of an operator that differ in their processor level alone (tenon/kit/levels.h) */

enum { TN_LEVELS_MOST = 3 };

typedef struct tn_level {
    const char *name, *features;
} tn_level;
#define TN_KIT_FEATURES_amx TN_KIT_FEATURES_avx512vnni ",avx512vbmi,amx_tile,amx_int8"
extern const tn_level tn_levels[TN_LEVELS_MOST], tn_levels_vnni[TN_LEVELS_MOST],
    tn_levels_tiles[TN_LEVELS_MOST];

typedef struct tn_made_kernel {
    tn_kernel kernel;
    char name[40]; /* "rows_avx2" */
} tn_made_kernel;

/* In a table of kernels it stands for one a level, which are made when they are registered. */
typedef struct tn_level_kernels {
    tn_kernel like; /* without the level in its name; its size tells what it is part of */
    const tn_level *levels;
    const void *users[TN_LEVELS_MOST]; /* null: there is none of this level */
    tn_made_kernel *made;
} tn_level_kernels;

/* The levels, and the tables that their kernels' `user` points at: TABLE_baseline and so on; for
 * kernels of kernels those of PREFIX, as registering makes them. */
#define TN_LEVELS(table)                                                                           \
    .levels = tn_levels, .users = {&table##_baseline, &table##_avx2, &table##_avx512}
#define TN_LEVELS_AVX2(table) .levels = tn_levels, .users = {&table##_baseline, &table##_avx2}
#define TN_LEVELS_VNNI(table)                                                                      \
    .levels = tn_levels_vnni, .users = {&table##_baseline, &table##_avx2, &table##_avx512vnni}
#define TN_LEVELS_TILES(table)                                                                     \
    .levels = tn_levels_tiles, .users = {&table##_avx512vnni, &table##_amx}
#define TN_LEVELS_MADE(prefix)                                                                     \
    .levels = tn_levels, .users = {&prefix##_made[0], &prefix##_made[1], &prefix##_made[2]}
#define TN_LEVELS_MADE_AVX2(prefix)                                                                \
    .levels = tn_levels, .users = {&prefix##_made[0], &prefix##_made[1]}

/* Defines the kernels PREFIX of an operator of ONNX's; what else they have are members that follow.
 * TN_LEVEL_LIST(PREFIX) is their entry in a table. */
#define TN_LEVEL_KERNELS(prefix, table, operator_name, kernel_name, words, ...)                    \
    TN_LEVEL_KERNELS_IN("", prefix, table, operator_name, kernel_name, words, __VA_ARGS__)
/* The same of another domain. */
#define TN_LEVEL_KERNELS_IN(domain, prefix, table, operator_name, kernel_name, words, ...)         \
    TN_LEVEL_KERNELS_OF(static, prefix, TN_LEVELS(table), domain, 1, operator_name, kernel_name,   \
                        words, __VA_ARGS__)
/* The same of any levels, with a revision; `storage`: static, or nothing for what
 * TN_LEVEL_KERNELS_EXTERN declares. */
#define TN_LEVEL_KERNELS_OF(storage, prefix, of_levels, domain, number, operator_name,             \
                            kernel_name, words, ...)                                               \
    storage tn_made_kernel prefix##_made[TN_LEVELS_MOST];                                          \
    storage const tn_level_kernels prefix##_levels = {                                             \
        .like = {.size = sizeof(tn_level_kernels),                                                 \
                 TN_KERNEL_NAMES("cpu", domain, operator_name, kernel_name, number, words),        \
                 __VA_ARGS__},                                                                     \
        of_levels,                                                                                 \
        .made = prefix##_made}
#define TN_LEVEL_KERNELS_EXTERN(prefix)                                                            \
    extern tn_made_kernel prefix##_made[TN_LEVELS_MOST];                                           \
    extern const tn_level_kernels prefix##_levels
#define TN_LEVEL_LIST(prefix) &prefix##_levels.like

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

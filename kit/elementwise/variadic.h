/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of any number of tensors, broadcast with each other (Max, Min,
 * Sum, Mean): a function of two numbers, applied from the first tensor to the last.
 */
#ifndef TN_KIT_ELEMENTWISE_VARIADIC_H
#define TN_KIT_ELEMENTWISE_VARIADIC_H

#include <tenon/kit/levels.h>
#include "kit/elementwise/row_program.h"
#include "kit/operator/layer.h"

/* What a kernel's `user` points at. */
typedef struct tn_variadic_kernel_user {
    const tn_rows_level *level;
    uint32_t combine; /* of rows.h */
    bool is_mean;
} tn_variadic_kernel_user;

tn_status tn_variadic_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_variadic_kernel_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_variadic_kernel_combinations[2];

#define TN_VARIADIC_KERNEL_LEVEL(prefix, operator_name, number, mean, level_name, features)        \
    static const tn_variadic_kernel_user prefix##_user_##level_name = {&tn_rows_##level_name,      \
                                                                       number, mean};              \
    static const tn_kernel prefix##_##level_name = {                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "rows_" #level_name,                                                               \
        .doc = "Rows of floats on all threads.",                                                   \
        .requires_features = features,                                                             \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        .absorbs = TN_ROW_ABSORBS,                                                                 \
        TN_COMBINATIONS(tn_variadic_kernel_combinations),                                          \
        .accepts = tn_variadic_kernel_accepts,                                                     \
        .prepare = tn_row_epilogue_prepare,                                                        \
        .release = tn_row_program_release,                                                         \
        .run = tn_variadic_kernel_run,                                                             \
        .user = (void *)(uintptr_t)&prefix##_user_##level_name,                                    \
    }

/* Defines the array PREFIX_kernels of an operator: one kernel a level. */
#define TN_VARIADIC_KERNELS(prefix, operator_name, number, mean)                                   \
    TN_VARIADIC_KERNEL_LEVEL(prefix, operator_name, number, mean, baseline, NULL);                 \
    TN_VARIADIC_KERNEL_LEVEL(prefix, operator_name, number, mean, avx2, TN_KIT_FEATURES_avx2);     \
    TN_VARIADIC_KERNEL_LEVEL(prefix, operator_name, number, mean, avx512, TN_KIT_FEATURES_avx512); \
    static const tn_kernel *const prefix##_kernels[] = {&prefix##_avx512, &prefix##_avx2,          \
                                                        &prefix##_baseline}

#endif

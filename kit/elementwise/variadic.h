/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of any number of tensors, broadcast with each other (Max, Min,
 * Sum, Mean): a function of two numbers, applied from the first tensor to the last.
 */
#ifndef TN_KIT_ELEMENTWISE_VARIADIC_H
#define TN_KIT_ELEMENTWISE_VARIADIC_H

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

/* Defines the kernels PREFIX of an operator. */
#define TN_VARIADIC_KERNELS(prefix, operator_name, number, mean)                                   \
    static const tn_variadic_kernel_user prefix##_user_baseline = {&tn_rows_baseline, number,      \
                                                                   mean},                          \
                                         prefix##_user_avx2 = {&tn_rows_avx2, number, mean},       \
                                         prefix##_user_avx512 = {&tn_rows_avx512, number, mean};   \
    TN_LEVEL_KERNELS(prefix, prefix##_user, operator_name, "rows",                                 \
                     "Rows of floats on all threads.",                                             \
                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                      \
                     .absorbs = TN_ROW_ABSORBS, TN_COMBINATIONS(tn_variadic_kernel_combinations),  \
                     .accepts = tn_variadic_kernel_accepts, .prepare = tn_row_epilogue_prepare,    \
                     .release = tn_kernel_state_destroy, .run = tn_variadic_kernel_run)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of two float tensors around the combinations of rows.h: threads,
 * blocks, epilogues, and one kernel table a processor level. The inputs are broadcast with each
 * other, before opset 7 as in axis_broadcast.h.
 */
#ifndef TN_KIT_ELEMENTWISE_COMBINE_KERNEL_H
#define TN_KIT_ELEMENTWISE_COMBINE_KERNEL_H

#include "kit/elementwise/row_program.h"
#include "kit/operator/layer.h"

/* What a kernel's `user` points at. */
typedef struct tn_combine_kernel_user {
    const tn_rows_level *level;
    uint32_t combine;
} tn_combine_kernel_user;

tn_status tn_combine_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_combine_kernel_prepare(tn_call *call) TN_NOEXCEPT;
tn_status tn_combine_kernel_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_combine_kernel_combinations[4];

/* The same on 8-bit tensors that stand for floating-point values (combine_bytes.c). */
tn_status tn_combine_bytes_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_combine_bytes_run(tn_call *call) TN_NOEXCEPT;
extern const char *const tn_combine_bytes_combinations[2];

/* A run of either: the output's rows with both inputs broadcast to it, begun where there are
 * elements. */
tn_status tn_combine_rows(tn_call *call, tn_broadcast_rows *rows, int64_t *out_elements);

#define TN_COMBINE_KERNEL_LEVEL(prefix, operator_name, number, first_version, level)               \
    static const tn_combine_kernel_user prefix##_user_##level = {&tn_rows_##level, number};        \
    TN_CPU_KERNEL_OF(                                                                              \
        prefix##_##level, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE, "",  \
        operator_name, "rows_" #level, "Rows of floats on all threads.",                           \
        .minimum_version = first_version, .requires_features = TN_KIT_FEATURES_##level,            \
        .absorbs = TN_ROW_ABSORBS, TN_COMBINATIONS(tn_combine_kernel_combinations),                \
        .accepts = tn_combine_kernel_accepts, .prepare = tn_combine_kernel_prepare,                \
        .release = tn_kernel_state_destroy, .run = tn_combine_kernel_run,                          \
        .user = (void *)(uintptr_t)&prefix##_user_##level);                                        \
    TN_CPU_KERNEL(prefix##_bytes_##level, "", operator_name, "int8_" #level,                       \
                  "Rows of 8-bit elements on all threads.", .minimum_version = first_version,      \
                  .requires_features = TN_KIT_FEATURES_##level, .absorbs = TN_ROW_ABSORBS,         \
                  TN_COMBINATIONS(tn_combine_bytes_combinations),                                  \
                  .accepts = tn_combine_bytes_accepts, .prepare = tn_combine_kernel_prepare,       \
                  .release = tn_kernel_state_destroy, .run = tn_combine_bytes_run,                 \
                  .user = (void *)(uintptr_t)&prefix##_user_##level)

/* Defines the array PREFIX_kernels of an operator: kernels a level. `number` is a combination of
 * rows.h, `first_version` the operator's lowest since_version that they serve. */
#define TN_COMBINE_KERNELS_FROM(prefix, operator_name, number, first_version)                      \
    TN_COMBINE_KERNEL_LEVEL(prefix, operator_name, number, first_version, baseline);               \
    TN_COMBINE_KERNEL_LEVEL(prefix, operator_name, number, first_version, avx2);                   \
    TN_COMBINE_KERNEL_LEVEL(prefix, operator_name, number, first_version, avx512);                 \
    static const tn_kernel *const prefix##_kernels[] = {TN_LEVEL_LIST(prefix),                     \
                                                        TN_LEVEL_LIST(prefix##_bytes)}
#define TN_COMBINE_KERNELS(prefix, operator_name, number)                                          \
    TN_COMBINE_KERNELS_FROM(prefix, operator_name, number, 0)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of several tensors of one type, in any type but 32-bit floats
 * alone: a function of two numbers applied from the first tensor to the last, in the arithmetic of
 * cells.h that holds the type. Floats are double precision, rounded once.
 */
#ifndef TN_KIT_FOLD_FOLD_TYPES_H
#define TN_KIT_FOLD_FOLD_TYPES_H

#include "kit/elementwise/cells.h"
#include "kit/operator/layer.h"

/* What a kernel's `user` points at. */
typedef struct tn_fold_types_user {
    const tn_cells_level *level;
    uint32_t combines[2]; /* with the second input, and with those behind it; of rows.h */
    bool is_mean;         /* divided by the number of inputs; floats alone */
    bool is_of_integers;  /* other types are left to other kernels */
} tn_fold_types_user;

/* The arithmetic that holds all numbers of a type: double precision for floats. */
tn_cell tn_fold_cell(tn_type type);

tn_status tn_fold_types_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_fold_types_run(tn_call *call) TN_NOEXCEPT;

/* Defines the kernels PREFIX of an operator. The first input
 * is the first operand; absent inputs are passed over. */
#define TN_FOLD_TYPES_KERNELS(prefix, operator_name, second, others, mean, integers)               \
    static const tn_fold_types_user                                                                \
        prefix##_user_baseline = {&tn_cells_baseline, {second, others}, mean, integers},           \
        prefix##_user_avx2 = {&tn_cells_avx2, {second, others}, mean, integers},                   \
        prefix##_user_avx512 = {&tn_cells_avx512, {second, others}, mean, integers};               \
    TN_LEVEL_KERNELS(prefix, prefix##_user, operator_name, "types",                                \
                     "Elements of any type but 32-bit floats, on all threads.",                    \
                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                      \
                     .accepts = tn_fold_types_accepts, .run = tn_fold_types_run)

#endif

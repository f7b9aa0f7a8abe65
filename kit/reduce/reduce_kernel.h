/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of reductions of floats along adjacent axes around the functions of reduce_rows.h: one a
 * processor level. Other axes, and axes that are not known when a plan is built, are left to the
 * reference.
 */
#ifndef TN_KIT_REDUCE_REDUCE_KERNEL_H
#define TN_KIT_REDUCE_REDUCE_KERNEL_H

#include <tenon/kit/levels.h>
#include <tenon/kit/lanes.h>
#include <tenon/kit/reduce_rows.h>
#include <tenon/plugin.h>

/* What becomes of a lane's result. */
enum { TN_REDUCE_AS_IT_IS = 0, TN_REDUCE_BY_COUNT = 1, TN_REDUCE_ROOT = 2 };

/* What a kernel's `user` points at. */
typedef struct tn_reduce_kernel_user {
    const tn_reduce_level *level;
    uint32_t kind, finish;
} tn_reduce_kernel_user;

/* The lanes of a node; false where the axes that are reduced do not lie beside each other. */
bool tn_reduce_kernel_lanes(tn_call *call, tn_lanes *out_lanes);

tn_status tn_reduce_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_reduce_kernel_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_reduce_kernel_combinations[2];

#define TN_REDUCE_KERNEL_LEVEL(prefix, operator_name, kind_number, finish_number, level_name,      \
                               features)                                                           \
    static const tn_reduce_kernel_user prefix##_user_##level_name = {&tn_reduce_##level_name,      \
                                                                     kind_number, finish_number};  \
    static const tn_kernel prefix##_##level_name = {                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "lanes_" #level_name,                                                              \
        .doc = "Lanes of floats along adjacent axes, on all threads.",                             \
        .requires_features = features,                                                             \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        TN_COMBINATIONS(tn_reduce_kernel_combinations),                                            \
        .accepts = tn_reduce_kernel_accepts,                                                       \
        .run = tn_reduce_kernel_run,                                                               \
        .user = (void *)(uintptr_t)&prefix##_user_##level_name,                                    \
    }

/* Defines the array PREFIX_kernels of an operator: one kernel a level. */
#define TN_REDUCE_KERNELS(prefix, operator_name, kind_number, finish_number)                       \
    TN_REDUCE_KERNEL_LEVEL(prefix, operator_name, kind_number, finish_number, baseline, NULL);     \
    TN_REDUCE_KERNEL_LEVEL(prefix, operator_name, kind_number, finish_number, avx2,                \
                           TN_KIT_FEATURES_avx2);                                                  \
    TN_REDUCE_KERNEL_LEVEL(prefix, operator_name, kind_number, finish_number, avx512,              \
                           TN_KIT_FEATURES_avx512);                                                \
    static const tn_kernel *const prefix##_kernels[] = {&prefix##_avx512, &prefix##_avx2,          \
                                                        &prefix##_baseline}

#endif

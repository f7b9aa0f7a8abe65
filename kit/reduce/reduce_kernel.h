/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of reductions of floats around the functions of reduce_rows.h: one a processor level.
 * Axes that are not known when a plan is built are left to the reference.
 */
#ifndef TN_KIT_REDUCE_REDUCE_KERNEL_H
#define TN_KIT_REDUCE_REDUCE_KERNEL_H

#include "kit/operator/layer.h"
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

/* Adjacent axes, which are known; any that are. */
tn_status tn_reduce_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_reduce_kernel_accepts_any(tn_call *call) TN_NOEXCEPT;
tn_status tn_reduce_kernel_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_reduce_kernel_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_reduce_kernel_combinations[2];

/* Defines the kernels PREFIX of an operator. */
#define TN_REDUCE_KERNELS(prefix, operator_name, kind, finish)                                     \
    static const tn_reduce_kernel_user prefix##_user_baseline = {&tn_reduce_baseline, kind,        \
                                                                 finish},                          \
                                       prefix##_user_avx2 = {&tn_reduce_avx2, kind, finish},       \
                                       prefix##_user_avx512 = {&tn_reduce_avx512, kind, finish};   \
    TN_LEVEL_KERNELS_OF(static, prefix, TN_LEVELS(prefix##_user), "", 2, operator_name, "lanes",   \
                        "Lanes of floats, on all threads.",                                        \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(tn_reduce_kernel_combinations),                            \
                        .accepts = tn_reduce_kernel_accepts_any,                                   \
                        .reshape = tn_reduce_kernel_reshape, .run = tn_reduce_kernel_run)

#endif

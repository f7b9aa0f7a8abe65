/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA kernels of reductions along adjacent axes; layers/reduce/cuda.c has the table. Other axes
 * are left to the processor.
 */
#ifndef TN_KIT_CUDA_REDUCE_REDUCE_H
#define TN_KIT_CUDA_REDUCE_REDUCE_H

#include "kit/reduce/reduce_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `user` points at a tn_reduce_kernel_user without a level. */
tn_status tn_cuda_reduce_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_reduce_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_cuda_reduce_combinations[6];

/* Defines PREFIX_lanes, the kernel of a reduction. */
#define TN_CUDA_REDUCE_KERNEL(prefix, operator_name, kind, finish)                                 \
    static const tn_reduce_kernel_user prefix##_user = {NULL, kind, finish};                       \
    static const tn_kernel prefix##_lanes = {                                                      \
        TN_KERNEL_BEGIN("cuda", "", operator_name, "lanes", 1,                                     \
                        "A lane a warp, a block where it is long; columns side by side."),         \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(tn_cuda_reduce_combinations),                                              \
        .accepts = tn_cuda_reduce_accepts,                                                         \
        .run = tn_cuda_reduce_run,                                                                 \
        .user = (void *)(uintptr_t)&prefix##_user,                                                 \
    };

#ifdef __cplusplus
}
#endif

#endif

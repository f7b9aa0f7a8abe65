/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA kernels of reductions along adjacent axes. An operator's folder makes its table by the macro
 * of this header, in a file cuda.c. Other axes are left to the processor.
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

#define TN_CUDA_REDUCE_KERNEL(folder, operator_name, kind_number, finish_number)                   \
    static const tn_reduce_kernel_user folder##_user = {NULL, kind_number, finish_number};         \
    static const tn_kernel folder##_lanes = {                                                      \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cuda",                                                                          \
        .name = "lanes",                                                                           \
        .doc = "A lane a warp, a block where it is long; columns side by side.",                   \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(tn_cuda_reduce_combinations),                                              \
        .accepts = tn_cuda_reduce_accepts,                                                         \
        .run = tn_cuda_reduce_run,                                                                 \
        .user = (void *)(uintptr_t)&folder##_user,                                                 \
    };                                                                                             \
    extern const tn_kernel *const tn_##folder##_cuda_kernels[];                                    \
    const tn_kernel *const tn_##folder##_cuda_kernels[] = {&folder##_lanes, NULL}

#ifdef __cplusplus
}
#endif

#endif

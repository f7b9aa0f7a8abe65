/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA kernels that slide a window over channels and keep its largest element or its mean, linear
 * and with channels last, of up to three spatial axes; and the same over whole planes. An
 * operator's folder makes its table by a macro of this header, in a file cuda.c.
 */
#ifndef TN_KIT_CUDA_REDUCE_POOL_H
#define TN_KIT_CUDA_REDUCE_POOL_H

#include "kit/window/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel's `user` points at: how a node's window is read, and what is made of it.
 * `counts_pads` is null where a mean never counts them. */
typedef struct tn_cuda_pool_user {
    tn_status (*window)(tn_call *call, tn_window *out_window);
    bool (*counts_pads)(const tn_call *call);
    bool is_mean;
} tn_cuda_pool_user;

tn_status tn_cuda_pool_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_pool_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_pool_run(tn_call *call) TN_NOEXCEPT;

/* Whole planes; `user` as above without `window`. */
tn_status tn_cuda_plane_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_plane_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_cuda_pool_combinations[9];

#define TN_CUDA_POOL_KERNEL_AS(folder, operator_name, kernel_accepts, kernel_reshape, kernel_run)  \
    static const tn_kernel folder##_pool = {                                                       \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cuda",                                                                          \
        .name = "pool",                                                                            \
        .doc =                                                                                     \
            "A window a thread; 16 bytes of channels at once where they lie beside each other.",   \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(tn_cuda_pool_combinations),                                                \
        .accepts = kernel_accepts,                                                                 \
        .reshape = kernel_reshape,                                                                 \
        .run = kernel_run,                                                                         \
        .user = (void *)(uintptr_t)&folder##_user,                                                 \
    };                                                                                             \
    extern const tn_kernel *const tn_##folder##_cuda_kernels[];                                    \
    const tn_kernel *const tn_##folder##_cuda_kernels[] = {&folder##_pool, NULL}

/* With the folder's `static const tn_cuda_pool_user <folder>_user` before it. */
#define TN_CUDA_POOL_KERNEL(folder, operator_name)                                                 \
    TN_CUDA_POOL_KERNEL_AS(folder, operator_name, tn_cuda_pool_accepts, tn_cuda_pool_reshape,      \
                           tn_cuda_pool_run)
#define TN_CUDA_PLANE_KERNEL(folder, operator_name)                                                \
    TN_CUDA_POOL_KERNEL_AS(folder, operator_name, tn_cuda_plane_accepts, NULL, tn_cuda_plane_run)

#ifdef __cplusplus
}
#endif

#endif

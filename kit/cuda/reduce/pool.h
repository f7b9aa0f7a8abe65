/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA kernels that slide a window over channels and keep its largest element or its mean, linear
 * and with channels last, of up to three spatial axes; and the same over whole planes.
 * layers/pool/cuda.c has the table.
 */
#ifndef TN_KIT_CUDA_REDUCE_POOL_H
#define TN_KIT_CUDA_REDUCE_POOL_H

#include "kit/operator/layer.h"
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

extern const char *const tn_cuda_pool_combinations[9], *const tn_cuda_plane_combinations[15];

#define TN_CUDA_POOL_KERNEL_AS(prefix, operator_name, table, ...)                                  \
    static const tn_kernel prefix = {                                                              \
        TN_KERNEL_BEGIN(                                                                           \
            "cuda", "", operator_name, "pool", 1,                                                  \
            "A window a thread; 16 bytes of channels at once where they lie beside each other."),  \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_CONCURRENT,           \
        TN_COMBINATIONS(table), .user = (void *)(uintptr_t)&prefix##_user, __VA_ARGS__}

/* Define PREFIX, the kernel of a pool of windows, or of whole planes. */
#define TN_CUDA_POOL_KERNEL(prefix, operator_name, window, counts_pads, is_mean)                   \
    static const tn_cuda_pool_user prefix##_user = {window, counts_pads, is_mean};                 \
    TN_CUDA_POOL_KERNEL_AS(prefix, operator_name, tn_cuda_pool_combinations,                       \
                           .accepts = tn_cuda_pool_accepts, .reshape = tn_cuda_pool_reshape,       \
                           .run = tn_cuda_pool_run)
#define TN_CUDA_PLANE_KERNEL(prefix, operator_name, is_mean)                                       \
    static const tn_cuda_pool_user prefix##_user = {NULL, NULL, is_mean};                          \
    TN_CUDA_POOL_KERNEL_AS(prefix, operator_name, tn_cuda_plane_combinations,                      \
                           .accepts = tn_cuda_plane_accepts, .run = tn_cuda_plane_run)

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA kernels of elementwise operators: of one tensor (the maps of tenon/kit/rows.h) and of
 * two that are broadcast with each other (its combinations), with activations after them. An
 * operator's folder makes its kernel's table by a macro of this header, in a file cuda.c.
 */
#ifndef TN_KIT_CUDA_POINTWISE_POINTWISE_H
#define TN_KIT_CUDA_POINTWISE_POINTWISE_H

#include "kit/cuda/pointwise/chain.h"
#include "kit/operator/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a map kernel's `user` points at. `map` 0: the operator describes itself as an activation.
 * Otherwise alpha and beta come from the operator's fields of these names, null being zero. */
typedef struct tn_cuda_map_user {
    uint32_t map;
    const char *alpha, *beta;
} tn_cuda_map_user;

tn_status tn_cuda_map_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_map_prepare(tn_call *call) TN_NOEXCEPT;
void tn_cuda_map_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_map_run(tn_call *call) TN_NOEXCEPT;

typedef struct tn_cuda_combine_user {
    uint32_t combine;
} tn_cuda_combine_user;

tn_status tn_cuda_combine_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_combine_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_combine_run(tn_call *call) TN_NOEXCEPT;

extern const char *const tn_cuda_map_combinations[8];
extern const char *const tn_cuda_clip_combinations[16];
extern const char *const tn_cuda_combine_combinations[15];
extern const char *const tn_cuda_sum_combinations[8];

/* The entry <folder>_pointwise, with `static const tn_cuda_map_user <folder>_user` before it. */
#define TN_CUDA_MAP_KERNEL_ENTRY(folder, domain_name, operator_name, combination_table)            \
    static const tn_kernel folder##_pointwise = {                                                  \
        TN_KERNEL_BEGIN("cuda", domain_name, operator_name, "pointwise", 1,                        \
                        "Element by element, 16 bytes a thread."),                                 \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE |            \
                  TN_KERNEL_ANY_SHAPE,                                                             \
        .absorbs = TN_CUDA_CHAIN_ABSORBS,                                                          \
        TN_COMBINATIONS(combination_table),                                                        \
        .accepts = tn_cuda_map_accepts,                                                            \
        .prepare = tn_cuda_map_prepare,                                                            \
        .release = tn_cuda_map_release,                                                            \
        .run = tn_cuda_map_run,                                                                    \
        .user = (void *)(uintptr_t)&folder##_user,                                                 \
    };

#define TN_CUDA_COMBINE_KERNEL_ENTRY(folder, operator_name, combine_number, first_version,         \
                                     combination_table)                                            \
    static const tn_cuda_combine_user folder##_user = {combine_number};                            \
    static const tn_kernel folder##_pointwise = {                                                  \
        TN_KERNEL_BEGIN("cuda", "", operator_name, "pointwise", 1,                                 \
                        "Element by element, 16 bytes a thread where rows are long enough."),      \
        .minimum_version = first_version,                                                          \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE |            \
                  TN_KERNEL_ANY_SHAPE,                                                             \
        .absorbs = TN_CUDA_CHAIN_ABSORBS,                                                          \
        TN_COMBINATIONS(combination_table),                                                        \
        .accepts = tn_cuda_combine_accepts,                                                        \
        .reshape = tn_cuda_combine_reshape,                                                        \
        .run = tn_cuda_combine_run,                                                                \
        .user = (void *)(uintptr_t)&folder##_user,                                                 \
    };

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of boxes of elements on the GPU: a tn_region_mover of tenon/kit/region.h, so that
 * operators that only move data have a CUDA kernel by handing it to the function that reads their
 * node.
 */
#ifndef TN_KIT_CUDA_REGION_REGION_H
#define TN_KIT_CUDA_REGION_REGION_H

#include <tenon/kit/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues the copy. TN_ERROR_UNSUPPORTED: more elements than 32-bit numbers count. [called: run]
 */
tn_status tn_cuda_region_copy(tn_call *call, const tn_region *region, void *to, const void *from);

/* TN_OK where the node's tensors are linear or have their channels last, have few enough elements,
 * and 8-bit numbers have one scale on both sides. [called: build, load] */
tn_status tn_cuda_region_accepts(tn_call *call) TN_NOEXCEPT;

/* The table of an operator that moves data; `kernel_run` is its callback. */
#define TN_CUDA_REGION_KERNEL(folder, operator_name, combination_table, kernel_run)                \
    static const tn_kernel folder##_runs = {                                                       \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cuda",                                                                          \
        .name = "runs",                                                                            \
        .doc = "Runs of elements, 16 bytes a thread where they are long enough; tiles where "      \
               "axes change places.",                                                              \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(combination_table),                                                        \
        .accepts = tn_cuda_region_accepts,                                                         \
        .run = kernel_run,                                                                         \
    };                                                                                             \
    extern const tn_kernel *const tn_##folder##_cuda_kernels[];                                    \
    const tn_kernel *const tn_##folder##_cuda_kernels[] = {&folder##_runs, NULL}

/* One tensor in, one out, of any type. */
extern const char *const tn_cuda_region_combinations[4];

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of boxes of elements on the GPU: a tn_region_mover of tenon/kit/region.h, so that
 * operators that only move data have a CUDA kernel by handing it to the function that reads their
 * node.
 */
#ifndef TN_KIT_CUDA_REGION_REGION_H
#define TN_KIT_CUDA_REGION_REGION_H

#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues the copy. TN_ERROR_UNSUPPORTED: more elements than 32-bit numbers count. [called: run]
 */
tn_status tn_cuda_region_copy(tn_call *call, const tn_region *region, void *to, const void *from);

/* The same for several, in one launch where they are rows at one distance; each simplified
 * (tn_region_simplify) and not empty, all with elements of one size. [called: run] */
tn_status tn_cuda_region_copy_all(tn_call *call, uint32_t count, const tn_region *regions,
                                  void *const *to, const void *const *from);

/* TN_OK where the node's tensors are linear or have their channels last, have few enough elements,
 * and 8-bit numbers have one scale on both sides. [called: build, load] */
tn_status tn_cuda_region_accepts(tn_call *call) TN_NOEXCEPT;

/* The kernel of an operator that is `move`, a function of a mover, as its folder's only one. */
#define TN_CUDA_MOVE_LAYER(folder, operator_name, combination_table, move)                         \
    static tn_status folder##_run(tn_call *call) {                                                 \
        return move(call, tn_cuda_region_copy);                                                    \
    }                                                                                              \
    static const tn_kernel folder##_runs = {                                                       \
        TN_KERNEL_BEGIN("cuda", "", operator_name, "runs", 1,                                      \
                        "Runs of elements, 16 bytes a thread where they are long enough; tiles "   \
                        "where axes are swapped."),                                                \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(combination_table),                                                        \
        .accepts = tn_cuda_region_accepts,                                                         \
        .run = folder##_run,                                                                       \
    };                                                                                             \
    TN_CUDA_LAYER(folder, &folder##_runs)

/* One tensor in, one out, of any type. */
extern const char *const tn_cuda_region_combinations[4];
/* The same with inputs on the host that say where. */
extern const char *const tn_cuda_region_placed_combinations[4];

#ifdef __cplusplus
}
#endif

#endif

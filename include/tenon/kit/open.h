/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of which a run knows extents that prepare does not (TN_KERNEL_ANY_SHAPE): a stand-in with
 * numbers in their stead, for rules that need some shape to read the rest of a node.
 */
#ifndef TENON_KIT_OPEN_H
#define TENON_KIT_OPEN_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_OPEN_EXTENT 256 /* larger than most windows */

typedef struct tn_open_stand_in {
    tn_tensor tensor;
    int64_t shape[TN_MAX_RANK];
} tn_open_stand_in;

/* The tensor itself where all is known; else a copy in `stand_in` with `extent` for what is not. */
static inline const tn_tensor *tn_open_resolve(const tn_tensor *tensor, int64_t extent,
                                               tn_open_stand_in *stand_in) {
    bool is_open = false;
    stand_in->tensor = *tensor;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const bool is_unknown = tensor->shape[i] < 0;
        stand_in->shape[i] = is_unknown ? extent : tensor->shape[i];
        is_open = is_open || is_unknown;
    }
    stand_in->tensor.shape = stand_in->shape;
    return is_open ? &stand_in->tensor : tensor;
}

#ifdef __cplusplus
}
#endif

#endif

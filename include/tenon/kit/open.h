/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of which a run knows extents that prepare does not (TN_KERNEL_ANY_SHAPE): a stand-in with
 * numbers in their stead, for rules that need some shape to read the rest of a node, and what lets
 * `accepts` leave to `reshape` what hangs on the extents.
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

/* Whether two extents are equal as far as they are known. */
static inline bool tn_open_fits(int64_t one, int64_t other) {
    return one == other || one < 0 || other < 0;
}

/* Whether a run alone knows extents of the tensor, which may be absent. */
static inline bool tn_open_is(const tn_tensor *tensor) {
    for (uint32_t i = 0; tensor && i < tensor->rank; i++)
        if (tensor->shape[i] < 0) return true;
    return false;
}

/* The same of any input. */
static inline bool tn_open_has(const tn_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        if (tn_open_is(call->inputs[i])) return true;
    return false;
}

/* For `reshape`: asks `accepts` again, now that the extents are known. TN_ERROR_UNSUPPORTED, and
 * the operator's reference computes this shape. */
static inline tn_status tn_open_ask(tn_call *call, tn_callback accepts) {
    if (accepts(call) == TN_OK) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the kernel does not compute these shapes");
}

#ifdef __cplusplus
}
#endif

#endif

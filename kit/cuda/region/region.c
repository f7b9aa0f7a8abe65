/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of boxes: elements joined to wider ones where both sides allow it; see region.h. */
#include "kit/cuda/region/region.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/region/region_job.h"
#include "kit/cuda/iteration.h"
#include "kit/math/byte_table.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

const char *const tn_cuda_region_combinations[4] = {"* -> *", "f16 -> f16", "bf16 -> bf16",
                                                    "qi8 -> qi8"};
const char *const tn_cuda_region_placed_combinations[4] = {
    "*, *?... -> *", "f16, *?... -> f16", "bf16, *?... -> bf16", "qi8, *?... -> qi8"};

tn_status tn_cuda_region_accepts(tn_call *call) {
    const float scale = tn_byte_scale(call->inputs[0]);
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *y = call->outputs[i];
        if (!y) continue;
        if (!tn_cuda_iteration_knows(y) || tn_element_count(y) > TN_CUDA_MOST_ELEMENTS ||
            tn_byte_scale(y) != scale)
            return TN_ERROR_UNSUPPORTED;
    }
    return tn_cuda_iteration_knows(call->inputs[0]) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* Whether pairs of elements can be moved as one. */
static bool can_widen(const tn_region *region, uintptr_t to, uintptr_t from) {
    const uint32_t last = region->rank - 1;
    if (region->element_bytes >= 16 || region->extents[last] % 2 != 0 ||
        region->to_strides[last] != 1 || region->from_strides[last] != 1 ||
        (to | from) % (2 * region->element_bytes) != 0)
        return false;
    for (uint32_t i = 0; i < last; i++)
        if (region->to_strides[i] % 2 != 0 || region->from_strides[i] % 2 != 0) return false;
    return true;
}

static void widen(tn_region *region, uintptr_t to, uintptr_t from) {
    const uint32_t last = region->rank - 1;
    while (can_widen(region, to, from)) {
        region->element_bytes *= 2;
        region->extents[last] /= 2;
        for (uint32_t i = 0; i < last; i++) {
            region->to_strides[i] /= 2;
            region->from_strides[i] /= 2;
        }
    }
}

tn_status tn_cuda_region_copy(tn_call *call, const tn_region *region, void *to, const void *from) {
    tn_region own = *region;
    if (!tn_region_simplify(&own)) return TN_OK;
    widen(&own, (uintptr_t)to, (uintptr_t)from);
    if (tn_infer_product(own.extents, 0, own.rank) > TN_CUDA_MOST_ELEMENTS)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "an output of more than 2^31 - 1 elements");
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_region_launch(&own, to, from, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a copy");
}

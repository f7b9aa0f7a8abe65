/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot on CUDA, by kit/cuda/any/index.cu. */
#include "kit/cuda/any/index_job.h"
#include "kit/operator/axis.h"
#include "kit/operator/layer.h"
#include <tenon/kit/lanes.h>

enum { INDICES = 0, VALUES = 2 };

static tn_status one_hot_run(tn_call *call) {
    const tn_tensor *indices = call->inputs[INDICES], *y = call->outputs[0];
    uint32_t axis = 0;
    TN_TRY(tn_axis_read(call, indices->rank + 1, &axis));
    if (tn_element_count(y) == 0) return TN_OK;
    const tn_lanes lanes = tn_lanes_along(y, axis, axis + 1);
    const tn_cuda_one_hot_job job = {.indices = indices->data,
                                     .values = call->inputs[VALUES]->data,
                                     .to = y->data,
                                     .index_type = indices->type,
                                     .bytes = (uint32_t)tn_element_bytes(y->type),
                                     .count = (uint32_t)tn_element_count(y),
                                     .depth = lanes.count,
                                     .depths = tn_divider_make((uint32_t)lanes.count),
                                     .inner = tn_divider_make((uint32_t)lanes.inner)};
    return tn_cuda_any_run(call, tn_cuda_one_hot_launch, &job);
}

TN_CUDA_ANY_KERNEL(one_hot_elements, "", "OneHot", "elements", "An element of the output a thread.",
                   .accepts = tn_cuda_any_accepts, .run = one_hot_run);
TN_CUDA_LAYER(one_hot, &one_hot_elements);

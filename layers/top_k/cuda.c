/* SPDX-License-Identifier: Apache-2.0 */
/* TopK on CUDA, by kit/cuda/any/sort.cu. */
#include "kit/cuda/any/sort_job.h"
#include "kit/operator/layer.h"
#include "top_k/top_k.h"

static tn_status top_k_accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    TN_TRY(tn_cuda_any_accepts(call));
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->shape[i] > TN_CUDA_SORT_LONGEST) {
            tn_lanes lanes;
            uint32_t axis = 0;
            int64_t k = 0;
            if (tn_top_k_read(call, &lanes, &axis, &k) != TN_OK ||
                lanes.count > TN_CUDA_SORT_LONGEST)
                return TN_ERROR_UNSUPPORTED;
        }
    return TN_OK;
}

static tn_status top_k_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *values = tn_infer_output(call, 0),
                    *indices = tn_infer_output(call, 1);
    tn_cuda_sort_job job = {.x = x->data,
                            .values = values ? values->data : NULL,
                            .indices = indices ? indices->data : NULL,
                            .type = x->type,
                            .bytes = (uint32_t)tn_element_bytes(x->type),
                            .is_largest = tn_top_k_is_largest(call)};
    uint32_t axis = 0;
    TN_TRY(tn_top_k_read(call, &job.lanes, &axis, &job.k));
    if (tn_element_count(x) == 0 || job.k == 0) return TN_OK;
    return tn_cuda_any_run(call, tn_cuda_sort_launch, &job);
}

TN_CUDA_ANY_KERNEL(top_k_blocks, "", "TopK", "blocks",
                   "A lane a block: an element's rank is how many are better.",
                   .accepts = top_k_accepts, .run = top_k_run);
TN_CUDA_LAYER(top_k, &top_k_blocks);

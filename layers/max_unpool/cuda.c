/* SPDX-License-Identifier: Apache-2.0 */
/* MaxUnpool on CUDA, by kit/cuda/any/window/window.cu. */
#include "kit/cuda/any/window/window_job.h"
#include "kit/operator/layer.h"
#include "max_unpool/max_unpool.h"
#include <tenon/kit/region.h>

static tn_status unpool_reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)tn_element_count(call->outputs[0]) * sizeof(int32_t);
    return TN_OK;
}

static tn_status unpool_run(tn_call *call) {
    const tn_tensor *x = call->inputs[TN_UNPOOL_X], *y = call->outputs[0];
    int64_t pooled[TN_MAX_RANK];
    tn_cuda_unpool_job job = {.x = x->data,
                              .indices = call->inputs[TN_UNPOOL_INDICES]->data,
                              .y = y->data,
                              .last = call->workspace,
                              .bytes = (uint32_t)tn_element_bytes(x->type),
                              .x_count = tn_element_count(x),
                              .y_count = tn_element_count(y),
                              .fault = tn_cuda_fault_of(call)};
    if (job.y_count == 0) return TN_OK;
    TN_TRY(tn_unpool_read(call, pooled));
    (void)tn_cuda_box_init(&job.pooled, x->rank, pooled); /* none: every index is a fault */
    tn_region_strides(y->rank, y->shape, job.pooled.steps[0]);
    return tn_cuda_any_run(call, tn_cuda_unpool_launch, &job);
}

TN_CUDA_ANY_KERNEL(unpool_elements, "", "MaxUnpool", "elements",
                   "The last element for each position is found, then copied.",
                   .accepts = tn_cuda_any_accepts, .open = tn_cuda_fault_open,
                   .close = tn_cuda_fault_close, .verify = tn_cuda_fault_verify,
                   .reshape = unpool_reshape, .run = unpool_run);
TN_CUDA_LAYER(max_unpool, &unpool_elements);

/* SPDX-License-Identifier: Apache-2.0 */
/* Det on CUDA, by kit/cuda/any/sum/sum.cu. */
#include "kit/cuda/any/sum/sum_job.h"
#include "kit/operator/layer.h"

static tn_status det_reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)tn_element_count(call->inputs[0]) * sizeof(double);
    return TN_OK;
}

static tn_status det_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const tn_cuda_det_job job = {.x = x->data,
                                 .y = y->data,
                                 .type = x->type,
                                 .matrices = call->workspace,
                                 .count = tn_element_count(y),
                                 .n = x->shape[x->rank - 1]};
    return tn_cuda_any_run(call, tn_cuda_det_launch, &job);
}

TN_CUDA_ANY_KERNEL(det_blocks, "", "Det", "blocks", "A matrix a block, in double precision.",
                   .accepts = tn_cuda_any_accepts, .reshape = det_reshape, .run = det_run);
TN_CUDA_LAYER(det, &det_blocks);

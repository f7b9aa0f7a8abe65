/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe's Normalize on CUDA, by kit/cuda/any/sum/sum.cu. */
#include "kit/cuda/any/sum/sum_job.h"
#include "caffe_normalize/fields.h"
#include "kit/operator/layer.h"

static tn_status normalize_run(tn_call *call) {
    const tn_caffe_normalize_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0];
    if (tn_element_count(x) == 0) return TN_OK;
    tn_cuda_length_job job = {.x = x->data,
                              .scale = call->inputs[1]->data,
                              .y = call->outputs[0]->data,
                              .type = x->type,
                              .lanes = tn_lanes_along(x, 1, 2),
                              .eps = (double)params->eps,
                              .is_shared = params->channel_shared};
    job.width = params->across_spatial ? job.lanes.inner : 1;
    return tn_cuda_any_run(call, tn_cuda_length_launch, &job);
}

TN_CUDA_ANY_KERNEL(normalize_blocks, "Caffe", "Normalize", "blocks",
                   "An image or a pixel a block, in double precision.",
                   .accepts = tn_cuda_any_accepts, .run = normalize_run,
                   TN_FIELDS(tn_caffe_normalize_params, normalize_fields));
TN_CUDA_LAYER(caffe_normalize, &normalize_blocks);

/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe's Normalize on CUDA, by kit/cuda/any/sum/sum.cu. */
#include "kit/cuda/any/sum/sum_job.h"
#include "kit/operator/layer.h"

/* The kernel's own. */
typedef struct normalize_params {
    uint64_t present;
    bool across_spatial, channel_shared;
    float eps;
} normalize_params;
static const tn_field normalize_fields[] = {
    TN_FIELD(normalize_params, across_spatial, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the length is that of a whole image instead of the channels at one pixel"),
    TN_FIELD(normalize_params, channel_shared, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether all channels have one scale"),
    TN_FIELD(normalize_params, eps, TN_FIELD_F32, TN_OPTIONAL, "1e-10",
             "what is added to the sum of squares")};

static tn_status normalize_run(tn_call *call) {
    const normalize_params *params = call->kernel_params;
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
                   TN_FIELDS(normalize_params, normalize_fields));
TN_CUDA_LAYER(caffe_normalize, &normalize_blocks);

/* SPDX-License-Identifier: Apache-2.0 */
/* LRN on CUDA, by kit/cuda/any/spatial.cu. */
#include "kit/cuda/any/spatial_job.h"
#include "lrn/fields.h"
#include "kit/operator/layer.h"
#include <tenon/kit/lanes.h>

static tn_status lrn_run(tn_call *call) {
    const tn_lrn_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0];
    if (tn_element_count(x) == 0) return TN_OK;
    const tn_lanes lanes = tn_lanes_along(x, 1, 2);
    const tn_cuda_lrn_job job = {.x = x->data,
                                 .y = call->outputs[0]->data,
                                 .type = x->type,
                                 .count = (uint32_t)tn_element_count(x),
                                 .channels = tn_divider_make((uint32_t)lanes.count),
                                 .inner = tn_divider_make((uint32_t)lanes.inner),
                                 .before = (params->size - 1) / 2,
                                 .after = params->size / 2,
                                 .bias = (double)params->bias,
                                 .scale = (double)params->alpha / (double)params->size,
                                 .beta = (double)params->beta};
    return tn_cuda_any_run(call, tn_cuda_lrn_launch, &job);
}

static const char *const combinations[] = {"f32 -> f32", "f64 -> f64", "f16 -> f16",
                                           "bf16 -> bf16"};
TN_CUDA_ANY_KERNEL(lrn_elements, "", "LRN", "elements", "An element a thread.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts, .run = lrn_run,
                   TN_FIELDS(tn_lrn_params, lrn_fields));
TN_CUDA_LAYER(lrn, &lrn_elements);

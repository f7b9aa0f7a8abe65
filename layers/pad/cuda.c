/* SPDX-License-Identifier: Apache-2.0 */
/* Pad and CenterCropPad on CUDA, by kit/cuda/any/move.cu. */
#include "kit/cuda/any/move_job.h"
#include "kit/operator/layer.h"
#include "pad/pad.h"
#include <tenon/kit/region.h>

static tn_status run_plan(tn_call *call, const tn_pad_plan *plan, tn_cuda_pad_job *job) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    job->x = x->data;
    job->y = y->data;
    job->bytes = (uint32_t)tn_element_bytes(x->type);
    job->mode = plan->mode;
    if (!tn_cuda_box_init(&job->box, y->rank, y->shape)) return TN_OK;
    tn_region_strides(x->rank, x->shape, job->box.steps[0]);
    memcpy(job->begin, plan->begin, sizeof(job->begin));
    memcpy(job->low, plan->low, sizeof(job->low));
    memcpy(job->high, plan->high, sizeof(job->high));
    return tn_cuda_any_run(call, tn_cuda_pad_launch, job);
}

static tn_status pad_run(tn_call *call) {
    const tn_pad_params *params = call->params;
    const tn_tensor *constant = tn_infer_input(call, TN_PAD_CONSTANT_VALUE);
    tn_cuda_pad_job job = {.constant = constant ? constant->data : NULL};
    tn_pad_plan plan = {0};
    TN_TRY(tn_pad_read(call, &plan));
    if (!constant && call->op->since_version < 11)
        tn_element_store_f64(job.value, call->outputs[0]->type, 0, (double)params->value);
    return run_plan(call, &plan, &job);
}

static tn_status center_run(tn_call *call) {
    tn_cuda_pad_job job = {0};
    tn_pad_plan plan = {0};
    TN_TRY(tn_center_crop_pad_read(call, &plan));
    return run_plan(call, &plan, &job);
}

static tn_status pad_accepts(tn_call *call) {
    return call->inputs[0]->type == TN_STRING ? TN_ERROR_UNSUPPORTED : tn_cuda_any_accepts(call);
}

#define ELEMENTS(prefix, name)                                                                     \
    TN_CUDA_ANY_KERNEL(prefix##_elements, "", name, "elements",                                    \
                       "An element of the output a thread.", .accepts = pad_accepts,               \
                       .run = prefix##_run)
ELEMENTS(pad, "Pad");
ELEMENTS(center, "CenterCropPad");
TN_CUDA_LAYER(pad, &pad_elements, &center_elements);

/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe's Crop on CUDA: a Pad of less than nothing, by kit/cuda/any/move.cu. */
#include "kit/cuda/any/move_job.h"
#include "caffe_crop/fields.h"
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

static tn_status crop_run(tn_call *call) {
    const tn_caffe_crop_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint64_t count = params->offset.count;
    uint32_t axis = 0;
    tn_cuda_pad_job job = {.x = x->data,
                           .y = y->data,
                           .bytes = (uint32_t)tn_element_bytes(x->type),
                           .mode = TN_CUDA_PAD_CONSTANT};
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    if (!tn_cuda_box_init(&job.box, y->rank, y->shape)) return TN_OK;
    tn_region_strides(x->rank, x->shape, job.box.steps[0]);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i >= axis && count > 0) job.begin[i] = -params->offset.items[count == 1 ? 0 : i - axis];
        job.high[i] = x->shape[i];
    }
    return tn_cuda_any_run(call, tn_cuda_pad_launch, &job);
}

TN_CUDA_ANY_KERNEL(crop_elements, "Caffe", "Crop", "elements", "An element a thread.",
                   .accepts = tn_cuda_any_accepts, .run = crop_run,
                   TN_FIELDS(tn_caffe_crop_params, crop_fields));
TN_CUDA_LAYER(caffe_crop, &crop_elements);

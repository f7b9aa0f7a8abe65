/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign on CUDA, by kit/cuda/any/spatial.cu. */
#include "kit/cuda/any/spatial_job.h"
#include "kit/operator/layer.h"

/* The kernel's own; before opset 16 elements' middles are their numbers. */
typedef struct roi_params {
    uint64_t present;
    uint32_t coordinate_transformation_mode, mode;
    int64_t sampling_ratio;
    float spatial_scale;
} roi_params;
static const tn_field roi_fields[] = {
    TN_FIELD_CHOICE(roi_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "avg", "avg|max",
                    "what becomes of a cell's samples"),
    TN_FIELD_RANGE(roi_params, sampling_ratio, TN_FIELD_I64, TN_OPTIONAL, "0", 0,
                   TN_CUDA_ROI_MOST_SAMPLES,
                   "samples of a cell, both ways; 0: as many as it has elements, rounded up"),
    TN_FIELD(roi_params, spatial_scale, TN_FIELD_F32, TN_OPTIONAL, "1",
             "elements of X for a unit of the regions"),
    TN_FIELD_CHOICE(roi_params, coordinate_transformation_mode, TN_FIELD_ENUM, TN_OPTIONAL,
                    "half_pixel", "half_pixel|output_half_pixel",
                    "half_pixel: an element's middle lies half a unit behind its number"),
};

static tn_status roi_run(tn_call *call) {
    const roi_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0], *rois = call->inputs[1], *images = call->inputs[2];
    const tn_tensor *y = call->outputs[0];
    if (tn_element_count(y) == 0) return TN_OK;
    if (tn_element_count(x) == 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "there are regions of images without elements");
    const tn_cuda_roi_job job = {.x = x->data,
                                 .rois = rois->data,
                                 .images = images->data,
                                 .y = y->data,
                                 .type = x->type,
                                 .roi_type = rois->type,
                                 .image_type = images->type,
                                 .count = (uint32_t)tn_element_count(y),
                                 .channels = tn_divider_make((uint32_t)y->shape[1]),
                                 .rows = tn_divider_make((uint32_t)y->shape[2]),
                                 .columns = tn_divider_make((uint32_t)y->shape[3]),
                                 .image_count = x->shape[0],
                                 .height = x->shape[2],
                                 .width = x->shape[3],
                                 .sampling_ratio = params->sampling_ratio,
                                 .scale = (double)params->spatial_scale,
                                 .is_half = call->op->since_version >= 16 &&
                                            params->coordinate_transformation_mode == 0,
                                 .is_max = params->mode == 1,
                                 .fault = tn_cuda_fault_of(call)};
    return tn_cuda_any_run(call, tn_cuda_roi_launch, &job);
}

TN_CUDA_ANY_KERNEL(roi_elements, "", "RoiAlign", "elements", "An element of the output a thread.",
                   .accepts = tn_cuda_any_accepts, .open = tn_cuda_fault_open,
                   .close = tn_cuda_fault_close, .verify = tn_cuda_fault_verify, .run = roi_run,
                   TN_FIELDS(roi_params, roi_fields));
TN_CUDA_LAYER(roi_align, &roi_elements);

/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv on CUDA, by kit/cuda/any/window/deform.cu. */
#include "deform_conv/deform_conv.h"
#include "kit/cuda/any/window/window_job.h"
#include "kit/operator/layer.h"

static tn_status deform_reshape(tn_call *call) {
    tn_deform_geometry geometry;
    int64_t count = 0;
    TN_TRY(tn_deform_conv_read(call, &geometry));
    if (!tn_infer_multiply(geometry.channels * geometry.taps, geometry.positions, &count) ||
        count > INT64_MAX / 16)
        return call->host->fail(call, TN_ERROR_MEMORY, "windows have too many elements");
    call->workspace_bytes = (uint64_t)count * sizeof(double);
    return TN_OK;
}

static tn_status deform_run(tn_call *call) {
    tn_deform_geometry geometry;
    TN_TRY(tn_deform_conv_read(call, &geometry));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const tn_cuda_deform_job job = {.x = call->inputs[TN_DEFORM_X]->data,
                                    .w = call->inputs[TN_DEFORM_W]->data,
                                    .offset = call->inputs[TN_DEFORM_OFFSET]->data,
                                    .bias = tn_infer_data(tn_infer_input(call, TN_DEFORM_B)),
                                    .mask = tn_infer_data(tn_infer_input(call, TN_DEFORM_MASK)),
                                    .y = call->outputs[0]->data,
                                    .values = call->workspace,
                                    .type = call->outputs[0]->type,
                                    .window = geometry.window,
                                    .images = geometry.images,
                                    .channels = geometry.channels,
                                    .filters = geometry.filters,
                                    .group = geometry.group,
                                    .offset_group = geometry.offset_group,
                                    .taps = geometry.taps,
                                    .plane = geometry.plane,
                                    .positions = geometry.positions};
    return tn_cuda_any_run(call, tn_cuda_deform_launch, &job);
}

TN_CUDA_ANY_KERNEL(deform_windows, "", "DeformConv", "windows",
                   "What windows read, an image at a time; then an element of the output a thread.",
                   .accepts = tn_cuda_any_accepts, .reshape = deform_reshape, .run = deform_run);
TN_CUDA_LAYER(deform_conv, &deform_windows);

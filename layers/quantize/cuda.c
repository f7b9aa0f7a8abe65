/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on CUDA, by kit/cuda/any/byte.cu. */
#include "kit/cuda/any/byte_job.h"
#include "kit/operator/layer.h"
#include "quantize/quantize.h"

static tn_status run(tn_call *call, bool is_back) {
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *y = call->outputs[0];
    const tn_tensor *scale = call->inputs[TN_QUANTIZE_SCALE];
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT);
    tn_quantize_plan plan = {0};
    TN_TRY(tn_quantize_read(call, &plan));
    if (tn_element_count(y) == 0) return TN_OK;
    const tn_cuda_quantize_job job = {.x = x->data,
                                      .scale = scale->data,
                                      .zero = zero ? zero->data : NULL,
                                      .y = y->data,
                                      .x_type = x->type,
                                      .scale_type = scale->type,
                                      .zero_type = zero ? zero->type : TN_U8,
                                      .y_type = y->type,
                                      .count = (uint32_t)tn_element_count(y),
                                      .lane = tn_divider_make((uint32_t)plan.lanes.count),
                                      .inner = tn_divider_make((uint32_t)plan.lanes.inner),
                                      .scales = plan.scale_count,
                                      .block = plan.block,
                                      .is_blocked = plan.is_blocked,
                                      .is_back = is_back};
    return tn_cuda_any_run(call, tn_cuda_quantize_launch, &job);
}

static tn_status quantize_run(tn_call *call) {
    return run(call, false);
}
static tn_status dequantize_run(tn_call *call) {
    return run(call, true);
}

static tn_status dynamic_reshape(tn_call *call) {
    call->workspace_bytes = 2 * (TN_CUDA_RANGE_BLOCKS + 1) * sizeof(float);
    return TN_OK;
}

static tn_status dynamic_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = tn_infer_output(call, 0),
                    *scale = tn_infer_output(call, 1), *zero = tn_infer_output(call, 2);
    const tn_cuda_dynamic_job job = {.x = x->data,
                                     .y = y ? y->data : NULL,
                                     .zero = zero ? zero->data : NULL,
                                     .scale = scale ? scale->data : NULL,
                                     .scratch = call->workspace,
                                     .count = tn_element_count(x)};
    return tn_cuda_any_run(call, tn_cuda_dynamic_launch, &job);
}

#define ELEMENTS(prefix, name, ...)                                                                \
    TN_CUDA_ANY_KERNEL(prefix##_elements, "", name, "elements", "An element a thread.",            \
                       .accepts = tn_cuda_any_accepts, .run = prefix##_run, __VA_ARGS__)
ELEMENTS(quantize, "QuantizeLinear");
ELEMENTS(dequantize, "DequantizeLinear");
ELEMENTS(dynamic, "DynamicQuantizeLinear", .reshape = dynamic_reshape);
TN_CUDA_LAYER(quantize, &quantize_elements, &dequantize_elements, &dynamic_elements);

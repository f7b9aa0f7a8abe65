/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization and RMSNormalization on CUDA, by kit/cuda/any/norm.cu. */
#include "kit/cuda/any/norm_job.h"
#include "layer_normalization/layer_normalization.h"
#include "kit/operator/layer.h"

enum { X = 0, SCALE = 1, B = 2 };

static tn_status norm_run(tn_call *call) {
    const tn_layer_normalization_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[X], *scale = call->inputs[SCALE];
    const tn_tensor *b = tn_infer_input(call, B), *mean = tn_infer_output(call, 1),
                    *inverse = tn_infer_output(call, 2);
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    if (tn_element_count(x) == 0) return TN_OK;
    tn_cuda_norm_job job = {.x = x->data,
                            .scale = scale->data,
                            .bias = b ? b->data : NULL,
                            .y = call->outputs[0]->data,
                            .mean = mean ? mean->data : NULL,
                            .inverse = inverse ? inverse->data : NULL,
                            .type = x->type,
                            .y_type = call->outputs[0]->type,
                            .scale_type = scale->type,
                            .bias_type = b ? b->type : TN_F32,
                            .stash_type = mean      ? mean->type
                                          : inverse ? inverse->type
                                                    : TN_F32,
                            .has_mean = call->op->input_count > B,
                            .lanes = tn_infer_product(x->shape, 0, axis),
                            .count = tn_infer_product(x->shape, axis, x->rank),
                            .lane_period = 1,
                            .plane = 1,
                            .plane_step = 1,
                            .epsilon = (double)params->epsilon};
    if (!tn_layer_normalization_is_lane(scale, x, axis) ||
        !tn_layer_normalization_is_lane(b, x, axis)) {
        if (!tn_cuda_box_init(&job.box, x->rank, x->shape)) return TN_OK;
        tn_cuda_box_broadcast(&job.box, 0, scale->rank, scale->shape);
        if (b) tn_cuda_box_broadcast(&job.box, 1, b->rank, b->shape);
    }
    return tn_cuda_any_run(call, tn_cuda_norm_launch, &job);
}

/* Scale and bias stay in 32-bit floats where a build lowers the others. */
static const char *const combinations[] = {
    "f32, f32, f32? -> f32, f32|f16|bf16|f64?, f32|f16|bf16|f64?",
    "f16, f16|f32, f16|f32? -> f16, f32|f16|bf16|f64?, f32|f16|bf16|f64?",
    "bf16, bf16|f32, bf16|f32? -> bf16, f32|f16|bf16|f64?, f32|f16|bf16|f64?",
    "f64, f64, f64? -> f64, f32|f16|bf16|f64?, f32|f16|bf16|f64?"};
/* X and scale have types of their own, and Y has that of scale. */
static const char *const rms_combinations[] = {
    "f32|f16|bf16|f64, f64|f32|f16|bf16 -> f64|f32|f16|bf16", "f16, f32 -> f16",
    "bf16, f32 -> bf16"};
TN_CUDA_ANY_KERNEL(norm_blocks, "", "LayerNormalization", "blocks", "A lane a block.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts, .run = norm_run,
                   TN_FIELDS(tn_layer_normalization_params, layer_normalization_fields));
TN_CUDA_ANY_KERNEL(rms_blocks, "", "RMSNormalization", "blocks", "A lane a block.",
                   TN_COMBINATIONS(rms_combinations), .accepts = tn_cuda_any_accepts,
                   .run = norm_run,
                   TN_FIELDS(tn_layer_normalization_params, layer_normalization_fields));
TN_CUDA_LAYER(layer_normalization, &norm_blocks, &rms_blocks);

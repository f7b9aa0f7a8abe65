/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InstanceNormalization and GroupNormalization on CUDA, by kit/cuda/any/norm.cu;
 * MeanVarianceNormalization and LpNormalization by kit/cuda/any/lane.cu.
 */
#include "kit/cuda/any/lane_job.h"
#include "kit/cuda/any/norm_job.h"
#include "kit/operator/layer.h"
#include "normalize/fields.h"

/* Groups of an image; 0: each channel is one. */
static tn_status run_groups(tn_call *call, int64_t groups) {
    const tn_group_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0], *scale = call->inputs[1], *bias = call->inputs[2];
    if (tn_element_count(x) == 0) return TN_OK;
    if (groups == 0) groups = x->shape[1];
    const int64_t channels = x->shape[1] / groups;
    const bool is_per_group = scale->shape[0] != x->shape[1] || channels == 1;
    tn_cuda_norm_job job = {.x = x->data,
                            .scale = scale->data,
                            .bias = bias->data,
                            .y = call->outputs[0]->data,
                            .type = x->type,
                            .y_type = x->type,
                            .scale_type = scale->type,
                            .bias_type = bias->type,
                            .has_mean = true,
                            .lanes = x->shape[0] * groups,
                            .lane_period = groups,
                            .lane_step = is_per_group ? 1 : channels,
                            .plane = tn_infer_product(x->shape, 2, x->rank),
                            .plane_step = is_per_group ? 0 : 1,
                            .epsilon = (double)params->epsilon};
    job.count = channels * job.plane;
    return tn_cuda_any_run(call, tn_cuda_norm_launch, &job);
}

static tn_status instance_run(tn_call *call) {
    return run_groups(call, 0);
}
static tn_status group_run(tn_call *call) {
    return run_groups(call, ((const tn_group_params *)call->kernel_params)->num_groups);
}

/* ----------------------------------------------------------------------------------------------
 * along axes */

static tn_status mean_variance_run(tn_call *call) {
    const tn_mean_variance_params *params = call->kernel_params;
    uint32_t mask = 0;
    TN_TRY(tn_infer_axes(call, "field 'axes'", params->axes.count, params->axes.items,
                         call->inputs[0]->rank, &mask));
    return tn_cuda_lane_run(call, mask, TN_CUDA_LANE_MEAN_VARIANCE);
}

static tn_status lp_run(tn_call *call) {
    const tn_lp_normalization_params *params = call->kernel_params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, call->inputs[0]->rank, &axis));
    return tn_cuda_lane_run(call, 1u << axis,
                            params->p == 1 ? TN_CUDA_LANE_BY_L1 : TN_CUDA_LANE_BY_L2);
}

/* Scale and bias stay in 32-bit floats where a build lowers the others. */
static const char *const combinations[] = {"f32, f32, f32 -> f32", "f16, f16|f32, f16|f32 -> f16",
                                           "bf16, bf16|f32, bf16|f32 -> bf16",
                                           "f64, f64, f64 -> f64"};
static const char *const lane_combinations[] = {"f64 -> f64", "f32 -> f32", "f16 -> f16",
                                                "bf16 -> bf16"};
#define BLOCKS(symbol, name, table, run_function, field_table, fields_type)                        \
    TN_CUDA_ANY_KERNEL(symbol, "", name, "blocks", "A lane a block.", TN_COMBINATIONS(table),      \
                       .accepts = tn_cuda_any_accepts, .run = run_function,                        \
                       TN_FIELDS(fields_type, field_table))
BLOCKS(instance_blocks, "InstanceNormalization", combinations, instance_run, instance_fields,
       tn_group_params);
BLOCKS(group_blocks, "GroupNormalization", combinations, group_run, group_18_fields,
       tn_group_params);
BLOCKS(mean_variance_blocks, "MeanVarianceNormalization", lane_combinations, mean_variance_run,
       mean_variance_fields, tn_mean_variance_params);
BLOCKS(lp_blocks, "LpNormalization", lane_combinations, lp_run, lp_normalization_fields,
       tn_lp_normalization_params);
TN_CUDA_LAYER(normalize, &instance_blocks, &group_blocks, &mean_variance_blocks, &lp_blocks);

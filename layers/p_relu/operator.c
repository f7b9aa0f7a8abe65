/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PRelu: y = x < 0 ? slope x : x. The slope is broadcast to X; before opset 7 it is one number, or
 * one for each channel (axis 1).
 */
#include "kit/elementwise/combine_kernel.h"
#include "kit/math/element.h"
#include "kit/operator/infer.h"
#include "kit/operator/layer.h"
#include "src/expression/elementwise.h"

enum { P_RELU_X = 0, P_RELU_SLOPE = 1 };

static void p_relu_row(const void *params, uint64_t count, const float *const *inputs,
                       const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_combine(TN_COMBINE_PRELU, count, inputs, strides, output);
}

static tn_status refuse_slope(tn_call *call) {
    const tn_tensor *x = call->inputs[P_RELU_X], *slope = call->inputs[P_RELU_SLOPE];
    char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input 'slope' has the shape %s, which does not broadcast to X's %s",
                            tn_infer_shape_text(slope->rank, slope->shape, text, sizeof(text)),
                            tn_infer_shape_text(x->rank, x->shape, other, sizeof(other)));
}

static tn_status p_relu_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, P_RELU_X, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, P_RELU_SLOPE, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[P_RELU_X], *slope = call->inputs[P_RELU_SLOPE];
    bool fits = slope->rank <= x->rank;
    for (uint32_t i = 0; fits && i < slope->rank; i++)
        fits = slope->shape[i] == 1 || slope->shape[i] == x->shape[x->rank - slope->rank + i];
    return fits ? tn_infer_copy_shape(call, 0, P_RELU_X) : refuse_slope(call);
}

/* The slope as a tensor of X's rank. */
static tn_status channel_slopes(tn_call *call, int64_t *out_shape) {
    TN_TRY(tn_infer_require_rank(call, P_RELU_X, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, P_RELU_SLOPE, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[P_RELU_X];
    const int64_t count = tn_element_count(call->inputs[P_RELU_SLOPE]);
    for (uint32_t i = 0; i < x->rank; i++)
        out_shape[i] = 1;
    if (count == 1) return TN_OK;
    if (x->rank < 2 || count != x->shape[1]) return refuse_slope(call);
    out_shape[1] = count;
    return TN_OK;
}

static tn_status p_relu_6_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    TN_TRY(channel_slopes(call, shape));
    return tn_infer_copy_shape(call, 0, P_RELU_X);
}

static const char p_relu_text[] = "X < 0 ? slope * X : X";

static tn_status p_relu_6_reference(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    TN_TRY(channel_slopes(call, shape));
    const tn_elementwise_view view = {p_relu_text, call->inputs[P_RELU_X]->rank, shape};
    return tn_elementwise_compute(call, &view);
}

static const tn_port p_relu_inputs[] = {
    TN_PORT("X", "T:number", 0, "any tensor"),
    TN_PORT("slope", "T", 0, "slopes of negative numbers"),
};
static const tn_port p_relu_outputs[] = {
    TN_PORT("Y", "T", 0, "X with negative elements multiplied by the slope"),
};
static const char *const p_relu_6_cases[] = {
    "| X=f32[2,3,5,7] slope=f32[3]",
    "| X=f32[2,3] slope=f32[1]",
    "| X=f64[2,4,3] slope=f64[4]",
    "| X=f16[7] slope=f16[]",
};
static const char *const p_relu_7_cases[] = {
    "| X=f32[2,3,5,7] slope=f32[3,1,1]", "| X=f32[2,3,5,7] slope=f32[2,3,5,7]",
    "| X=f32[4,33] slope=f32[33]",       "| X=f32[] slope=f32[]",
    "| X=f64[3,4] slope=f64[1]",         "| X=f16[3,33] slope=f16[33]",
    "| X=i32[2,9] slope=i32[9]",         "| X=u64[2]{18446744073709551615,7} slope=u64[1]{3}",
    "| X=f32[0,3] slope=f32[3]",         "| X=f32[1,64,56,56] slope=f32[64,1,1]",
};

static const tn_operator p_relu_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .domain = "",
    .name = "PRelu",
    .doc = "Rectified linear unit with a slope for each channel.",
    TN_NO_FIELDS,
    TN_INPUTS(p_relu_inputs),
    TN_OUTPUTS(p_relu_outputs),
    .infer = p_relu_6_infer,
    .reference = p_relu_6_reference,
    TN_CASES(p_relu_6_cases),
};
static const tn_operator p_relu_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "PRelu",
    .doc = "Rectified linear unit with slopes that are broadcast.",
    TN_NO_FIELDS,
    TN_INPUTS(p_relu_inputs),
    TN_OUTPUTS(p_relu_outputs),
    .infer = p_relu_infer,
    .expression = p_relu_text,
    .row = p_relu_row,
    TN_CASES(p_relu_7_cases),
};

TN_COMBINE_KERNELS_FROM(p_relu, "PRelu", TN_COMBINE_PRELU, 7);

static const tn_operator *const p_relu_operators[] = {&p_relu_6, &p_relu_7};
TN_LAYER(p_relu, p_relu_operators, p_relu_kernels);

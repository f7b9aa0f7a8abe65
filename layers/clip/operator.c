/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clip: elements held within min..max; the bounds are fields before opset 11 and inputs from then
 * on. Where min is above max every element becomes max; NaN stays NaN. With constant bounds it is
 * absorbed as an activation by the kernels before it.
 */
#include "clip/clip.h"
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/math/element.h"
#include "kit/operator/infer.h"
#include "kit/operator/layer.h"
#include "src/expression/elementwise.h"

#include <math.h>

enum { CLIP_MIN = 1, CLIP_MAX = 2 };

static const tn_field clip_6_fields[] = {
    TN_FIELD(tn_clip_params, min, TN_FIELD_F32, TN_OPTIONAL, "-3.4028234663852886e+38",
             "lower bound"),
    TN_FIELD(tn_clip_params, max, TN_FIELD_F32, TN_OPTIONAL, "3.4028234663852886e+38",
             "upper bound"),
};

bool tn_clip_bounds(const tn_call *call, double *out_low, double *out_high) {
    const tn_tensor *low = tn_infer_input(call, CLIP_MIN), *high = tn_infer_input(call, CLIP_MAX);
    if (call->op->since_version < 11) {
        const tn_clip_params *params = call->params;
        *out_low = (double)params->min;
        *out_high = (double)params->max;
        return true;
    }
    if ((low && !low->data) || (high && !high->data)) return false;
    *out_low = low ? tn_element_load_f64(low->data, low->type, 0) : -(double)INFINITY;
    *out_high = high ? tn_element_load_f64(high->data, high->type, 0) : (double)INFINITY;
    return true;
}

static tn_status require_scalar(tn_call *call, uint32_t input) {
    const tn_tensor *bound = tn_infer_input(call, input);
    if (!bound || tn_element_count(bound) == 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number, but has %lld",
                            tn_infer_input_name(call, input), (long long)tn_element_count(bound));
}

static tn_status clip_infer(tn_call *call) {
    TN_TRY(require_scalar(call, CLIP_MIN));
    TN_TRY(require_scalar(call, CLIP_MAX));
    return tn_infer_copy_shape(call, 0, 0);
}

/* The expression of the bounds that are there; NaN is neither below nor above. */
static tn_status clip_reference(tn_call *call) {
    static const char *const texts[] = {
        "input", "input < min ? min : input", "input > max ? max : input",
        "input < min ? (min > max ? max : min) : input > max ? max : input"};
    const bool has_fields = call->op->since_version < 11;
    const bool has_low = has_fields || tn_infer_input(call, CLIP_MIN);
    const bool has_high = has_fields || tn_infer_input(call, CLIP_MAX);
    const tn_elementwise_view view = {.text = texts[(has_low ? 1 : 0) + (has_high ? 2 : 0)]};
    return tn_elementwise_compute(call, &view);
}

static tn_status clip_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    double low = 0, high = 0;
    if (input != 0 || !call->inputs[0] || !tn_element_is_real(call->inputs[0]->type) ||
        !tn_clip_bounds(call, &low, &high))
        return TN_ERROR_UNSUPPORTED;
    return tn_unary_facet(call, name, TN_ACTIVATION_CLIP, (float)low, (float)high, out_facet);
}

static const tn_port clip_6_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port clip_11_inputs[] = {
    TN_PORT("input", "T:number", 0, "any tensor"),
    TN_PORT("min", "T", TN_PORT_OPTIONAL, "lower bound, one number; absent: none"),
    TN_PORT("max", "T", TN_PORT_OPTIONAL, "upper bound, one number; absent: none"),
};
static const tn_port clip_outputs[] = {
    TN_PORT("output", "T", 0, "the input held within the bounds"),
};
static const char *const clip_6_cases[] = {
    "| input=f32[2,3,5]",           "min=-1 max=1 | input=f32[2,3,5,7]",   "min=0 | input=f64[17]",
    "min=1 max=-1 | input=f16[33]", "min=0 max=6 | input=f32[1,64,56,56]",
};
static const char *const clip_11_cases[] = {
    "| input=f32[2,3,5]",
    "| input=f32[2,3,5,7] min=f32[]{-1} max=f32[]{1}",
    "| input=f32[9] max=f32[]{0.5}",
    "| input=f32[9] min=f32[1]{2} max=f32[1]{-2}",
    "| input=i8[2,9] min=i8[]{-3} max=i8[]{2}",
    "| input=u64[3]{0,7,18446744073709551615} min=u64[]{3} max=u64[]{9}",
    "| input=f16[33] min=f16[]{0}",
    "| input=bf16[33] min=bf16[]{0} max=bf16[]{6}",
    "| input=f32[0,2] min=f32[]{0}",
    "| input=f32[1,64,56,56] min=f32[]{0} max=f32[]{6}",
};

static const tn_operator clip_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Clip",
    .doc = "Elements held within bounds given by fields.",
    TN_FIELDS(tn_clip_params, clip_6_fields),
    TN_INPUTS(clip_6_inputs),
    TN_OUTPUTS(clip_outputs),
    .infer = tn_unary_infer,
    .reference = clip_reference,
    .facet = clip_facet,
    TN_CASES(clip_6_cases),
};
static const tn_operator clip_11 = {
    .size = sizeof(tn_operator),
    .since_version = 11,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Clip",
    .doc = "Elements held within bounds given by inputs.",
    TN_NO_FIELDS,
    TN_INPUTS(clip_11_inputs),
    TN_OUTPUTS(clip_outputs),
    .infer = clip_infer,
    .reference = clip_reference,
    .facet = clip_facet,
    TN_CASES(clip_11_cases),
};

static void clip_read(const tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    double low = 0, high = 0;
    (void)inout_map;
    (void)tn_clip_bounds(call, &low, &high); /* all values are there when a node runs */
    *out_alpha = (float)low;
    *out_beta = (float)high;
}

static const char *const clip_combinations[] = {"f32, f32?, f32? -> f32",
                                                "f32:nhwc, f32?, f32? -> f32:nhwc"};
TN_MAP_KERNELS_AS(clip, "", "Clip", TN_ACTIVATION_CLIP, clip_read, clip_combinations);

static const tn_operator *const clip_operators[] = {&clip_6, &clip_11};
TN_LAYER(clip, clip_operators, clip_kernels);

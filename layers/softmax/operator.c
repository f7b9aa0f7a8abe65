/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax: exp(x - max) / sum(exp(x - max)) along one axis; before opset 13 over all axes from
 * `axis` on together.
 */
#include "softmax/softmax.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/known_steps.h>
#include "kit/operator/layer.h"
#include "softmax/kernels.h"

#include <math.h>

static const tn_field softmax_1_fields[] = {
    TN_FIELD(tn_softmax_params, axis, TN_FIELD_I64, TN_OPTIONAL, "1",
             "first of the axes that sum to one together; negative: from the end"),
};
static const tn_field softmax_13_fields[] = {
    TN_FIELD(tn_softmax_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1",
             "axis that sums to one; negative: from the end"),
};

tn_status tn_softmax_read(tn_call *call, tn_softmax_lanes *out_lanes) {
    const tn_softmax_params *params = call->params;
    bool is_one_axis = call->op->since_version >= 13;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    uint32_t axis = x->rank;
    if (is_one_axis || params->axis != (int64_t)x->rank)
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    uint32_t end = is_one_axis ? axis + 1 : x->rank;
    out_lanes->outer = tn_infer_product(x->shape, 0, axis);
    out_lanes->count = tn_infer_product(x->shape, axis, end);
    out_lanes->inner = tn_infer_product(x->shape, end, x->rank);
    return TN_OK;
}

static tn_status softmax_infer(tn_call *call) {
    tn_softmax_lanes lanes;
    TN_TRY(tn_softmax_read(call, &lanes));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status softmax_facet(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    const tn_softmax_params *params = call->params;
    uint32_t axis = 0;
    (void)input;
    if (!tn_known_is(name, TN_FACET_SOFTMAX)) return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, call->inputs[0]->rank, &axis));
    if (axis + 1 != call->inputs[0]->rank) return TN_ERROR_UNSUPPORTED;
    return tn_known_axis(name, TN_FACET_SOFTMAX, (int32_t)axis, out_facet);
}

static void compute_lane(const tn_tensor *x, const tn_tensor *y, int64_t first, int64_t step,
                         int64_t count) {
    double largest = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, tn_element_load_f64(x->data, x->type, first + i * step));
    for (int64_t i = 0; i < count; i++)
        sum += exp(tn_element_load_f64(x->data, x->type, first + i * step) - largest);
    for (int64_t i = 0; i < count; i++) {
        double value = exp(tn_element_load_f64(x->data, x->type, first + i * step) - largest);
        tn_element_store_f64(y->data, y->type, first + i * step, value / sum);
    }
}

static tn_status softmax_reference(tn_call *call) {
    tn_softmax_lanes lanes;
    TN_TRY(tn_softmax_read(call, &lanes));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    for (int64_t outer = 0; outer < lanes.outer; outer++)
        for (int64_t inner = 0; inner < lanes.inner; inner++)
            compute_lane(call->inputs[0], call->outputs[0],
                         outer * lanes.count * lanes.inner + inner, lanes.inner, lanes.count);
    return TN_OK;
}

static const tn_port softmax_inputs[] = {TN_PORT("input", "T:float", 0, "any tensor")};
static const tn_port softmax_outputs[] = {
    TN_PORT("output", "T", 0, "numbers of 0..1 that sum to one along each lane")};
static const char *const softmax_1_cases[] = {
    "| input=f32[2,3,4]",
    "axis=0 | input=f32[2,3,4]",
    "axis=2 | input=f64[2,3,4]",
    "axis=-1 | input=f32[3,10]",
};
static const char *const softmax_cases[] = {
    "| input=f32[1]",
    "| input=f32[3,10]",
    "axis=1 | input=f32[2,3,5,7]",
    "axis=0 | input=f64[17]",
    "axis=-2 | input=f16[2,9,3]",
    "| input=bf16[2,33]",
    "axis=1 | input=f32[1,21,5,33]",
    "| input=f32[0,5]",
    "| input=f32[64,1000]",
    "| input=f32[5,257]",
    "axis=0 | input=f32[300,18]",
};

TN_OPERATOR_VERSION(softmax, "", "Softmax", 1,
                    "Exponentials that sum to one over the trailing axes.",
                    TN_FIELDS(tn_softmax_params, softmax_1_fields), TN_INPUTS(softmax_inputs),
                    TN_OUTPUTS(softmax_outputs), TN_CASES(softmax_1_cases), .facet = softmax_facet);
TN_OPERATOR(softmax, "", "Softmax", 13, "Exponentials that sum to one along an axis.",
            TN_FIELDS(tn_softmax_params, softmax_13_fields), .facet = softmax_facet);

TN_LAYER(softmax, TN_OPERATORS(&softmax_1, &softmax_13), tn_softmax_kernels);

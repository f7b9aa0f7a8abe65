/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LpNormalization: a tensor divided by its length along an axis, by the sum of absolute values (p =
 * 1) or the root of the sum of squares (p = 2). Zero stays zero.
 */
#include "kit/math/element.h"
#include <tenon/kit/lanes.h>
#include "kit/operator/layer.h"

#include <math.h>

typedef struct lp_normalization_params {
    uint64_t present;
    int64_t axis, p;
} lp_normalization_params;

static const tn_field lp_normalization_fields[] = {
    TN_FIELD(lp_normalization_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1",
             "the axis; negative: from the end"),
    TN_FIELD_RANGE(lp_normalization_params, p, TN_FIELD_I64, TN_OPTIONAL, "2", 1, 2,
                   "the power in the length"),
};

static tn_status read_lanes(tn_call *call, tn_lanes *out_lanes) {
    const lp_normalization_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, call->inputs[0]->rank, &axis));
    *out_lanes = tn_lanes_along(call->inputs[0], axis, axis + 1);
    return TN_OK;
}

static tn_status lp_normalization_infer(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    return tn_infer_copy_shape(call, 0, 0);
}

static void normalize(const tn_call *call, const tn_lanes *lanes, int64_t first) {
    const lp_normalization_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    double sum = 0;
    for (int64_t k = 0; k < lanes->count; k++) {
        const double value = tn_element_load_f64(x->data, x->type, first + k * lanes->inner);
        sum += params->p == 1 ? fabs(value) : value * value;
    }
    const double length = params->p == 1 ? sum : sqrt(sum);
    for (int64_t k = 0; k < lanes->count; k++) {
        const int64_t at = first + k * lanes->inner;
        const double value = tn_element_load_f64(x->data, x->type, at);
        tn_element_store_f64(y->data, y->type, at, length == 0 ? 0 : value / length);
    }
}

static tn_status lp_normalization_reference(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++)
        normalize(call, &lanes, tn_lanes_first(&lanes, lane));
    return TN_OK;
}

static const tn_port lp_normalization_inputs[] = {TN_PORT("input", "T:float", 0, "any tensor")};
static const tn_port lp_normalization_outputs[] = {
    TN_PORT("output", "T", 0, "lanes of length one")};
static const char *const lp_normalization_cases[] = {
    "| input=f32[2,3,4]",         "p=1 axis=0 | input=f32[2,3,4]",  "axis=1 | input=f64[2,5]",
    "axis=-2 | input=f16[3,9,2]", "| input=f32[2,3]{0,0,0,1,-2,2}", "p=1 | input=f32[0,3]",
};

TN_OPERATOR(lp_normalization, "", "LpNormalization", 1,
            "Brings a tensor to length one along an axis.",
            TN_FIELDS(lp_normalization_params, lp_normalization_fields));

TN_LAYER_WITHOUT_KERNELS(lp_normalization, TN_OPERATORS(&lp_normalization_1));

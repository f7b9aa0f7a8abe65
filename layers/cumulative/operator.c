/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum: sums of all elements up to one's own along an axis, with it or without, from either end.
 */
#include <tenon/kit/lanes.h>
#include "kit/operator/layer.h"

typedef struct cum_sum_params {
    uint64_t present;
    bool exclusive, reverse;
} cum_sum_params;

enum { CUM_SUM_X = 0, CUM_SUM_AXIS = 1 };

static const tn_field cum_sum_fields[] = {
    TN_FIELD(cum_sum_params, exclusive, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether an element is not in its own sum"),
    TN_FIELD(cum_sum_params, reverse, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether sums begin at the end"),
};

static tn_status read_lanes(tn_call *call, tn_lanes *out_lanes) {
    int64_t values[1] = {0};
    uint32_t count = 0, axis = 0;
    TN_TRY(tn_infer_require_rank(call, CUM_SUM_X, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[CUM_SUM_X];
    TN_TRY(tn_infer_integers(call, CUM_SUM_AXIS, 1, values, &count));
    if (count != 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'axis' is empty");
    TN_TRY(tn_infer_axis(call, "input 'axis'", values[0], x->rank, &axis));
    *out_lanes = tn_lanes_along(x, axis, axis + 1);
    return TN_OK;
}

static tn_status cum_sum_infer(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    return tn_infer_copy_shape(call, 0, CUM_SUM_X);
}

static void sum_lane(const tn_call *call, const tn_lanes *lanes, int64_t first) {
    const cum_sum_params *params = call->params;
    const tn_tensor *x = call->inputs[CUM_SUM_X], *y = call->outputs[0];
    const bool is_real = tn_element_is_real(x->type);
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < lanes->count; k++) {
        const int64_t at = first + (params->reverse ? lanes->count - 1 - k : k) * lanes->inner;
        const double before = sum;
        const uint64_t whole_before = whole;
        if (is_real)
            sum += tn_element_f64(x, at);
        else
            whole += (uint64_t)tn_element_i64(x, at);
        if (is_real)
            tn_element_set_f64(y, at, params->exclusive ? before : sum);
        else
            tn_element_set_i64(y, at, (int64_t)(params->exclusive ? whole_before : whole));
    }
}

static tn_status cum_sum_reference(tn_call *call) {
    tn_lanes lanes = {0};
    TN_TRY(read_lanes(call, &lanes));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++)
        sum_lane(call, &lanes, tn_lanes_first(&lanes, lane));
    return TN_OK;
}

static const tn_port cum_sum_inputs[] = {
    TN_PORT("x", "T:number", 0, "any tensor"),
    TN_PORT("axis", "i64|i32", TN_PORT_VALUE_NEEDED, "the axis; negative: from the end"),
};
static const tn_port cum_sum_outputs[] = {
    TN_PORT("y", "T", 0, "the sums; integers wrap"),
};
static const char *const cum_sum_cases[] = {
    "| x=f32[5]{1,2,3,4,5} axis=i64[]{0}",      "exclusive=1 | x=f32[2,3] axis=i32[]{1}",
    "reverse=1 | x=f64[2,3,4] axis=i64[1]{-2}", "exclusive=1 reverse=1 | x=i32[3,4] axis=i64[]{0}",
    "| x=u8[3]{200,100,7} axis=i64[]{0}",       "| x=f32[0,3] axis=i64[]{1}",
};

TN_OPERATOR(cum_sum, "", "CumSum", 11, "Running sums along an axis.",
            TN_FIELDS(cum_sum_params, cum_sum_fields));

TN_LAYER_WITHOUT_KERNELS(cum_sum, TN_OPERATORS(&cum_sum_11));

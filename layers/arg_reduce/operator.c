/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin: where the largest or smallest element along an axis is. */
#include "arg_reduce/arg_reduce.h"
#include <tenon/kit/lanes.h>
#include "kit/operator/layer.h"

#include <math.h>

static const tn_field arg_reduce_fields[] = {
    TN_FIELD(tn_arg_reduce_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",
             "axis along which to look; negative: from the end"),
    TN_FIELD(tn_arg_reduce_params, keepdims, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the axis stays, with extent 1"),
    TN_FIELD(tn_arg_reduce_params, select_last_index, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the last of equal elements counts instead of the first"),
};

static tn_status arg_reduce_infer(tn_call *call) {
    const tn_arg_reduce_params *params = call->params;
    int64_t shape[TN_MAX_RANK];
    uint32_t axis = 0, rank = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return tn_infer_set_shape(call, 0, 0, NULL);
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis || params->keepdims) shape[rank++] = i == axis ? 1 : x->shape[i];
    TN_TRY(tn_infer_set_shape(call, 0, rank, shape));
    if (x->shape[axis] == 0 && tn_infer_product(shape, 0, rank) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "axis %u has no elements", axis);
    return TN_OK;
}

bool tn_arg_reduce_is_last(const tn_call *call) {
    const tn_arg_reduce_params *params = call->params;
    return call->op->since_version >= 12 && params->select_last_index;
}

tn_status tn_arg_reduce_read(tn_call *call, tn_lanes *out_lanes) {
    const tn_arg_reduce_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    uint32_t axis = 0;
    if (x->rank > 0) TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    *out_lanes = tn_lanes_along(x, axis, x->rank ? axis + 1 : 0);
    return TN_OK;
}

/* Whether element `at` comes before element `best`, or is its equal. */
static void compare(const tn_tensor *x, int64_t at, int64_t best, bool is_largest,
                    bool *out_is_before, bool *out_is_equal) {
    if (tn_element_is_real(x->type)) {
        const double a = tn_element_f64(x, at);
        const double b = tn_element_f64(x, best);
        *out_is_before = isnan(a) ? !isnan(b) : is_largest ? a > b : a < b;
        *out_is_equal = a == b || (isnan(a) && isnan(b));
        return;
    }
    const int64_t a = tn_element_i64(x, at);
    const int64_t b = tn_element_i64(x, best);
    const bool is_above = x->type == TN_U64 ? (uint64_t)a > (uint64_t)b : a > b;
    *out_is_equal = a == b;
    *out_is_before = is_largest ? is_above : !is_above && a != b;
}

static int64_t find(const tn_tensor *x, int64_t first, int64_t step, int64_t count, bool is_largest,
                    bool is_last) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        bool is_before, is_equal;
        compare(x, first + i * step, first + best * step, is_largest, &is_before, &is_equal);
        if (is_before || (is_equal && is_last)) best = i;
    }
    return best;
}

/* NaN comes before all other numbers. */
static tn_status arg_reduce_compute(tn_call *call, bool is_largest) {
    const bool is_last = tn_arg_reduce_is_last(call);
    const tn_tensor *x = call->inputs[0];
    int64_t *places = call->outputs[0]->data;
    tn_lanes lanes;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(tn_arg_reduce_read(call, &lanes));
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++)
        places[lane] =
            find(x, tn_lanes_first(&lanes, lane), lanes.inner, lanes.count, is_largest, is_last);
    return TN_OK;
}

static const tn_port arg_reduce_inputs[] = {TN_PORT("data", "number", 0, "any tensor")};
static const tn_port arg_reduce_outputs[] = {
    TN_PORT("reduced", "i64", 0, "places along the axis, from zero")};
#define CASES_1                                                                                    \
    "| data=f32[2,3,4]", "axis=1 | data=f32[2,3,4]", "axis=-1 keepdims=0 | data=f32[2,3,4]",       \
        "axis=1 | data=i32[2,3]{5,7,7,-1,-1,3}", "| data=u64[3]{1,18446744073709551615,7}",        \
        "| data=f16[33,3]", "keepdims=0 | data=f32[4]{1,nan,9,nan}", "axis=1 | data=f32[0,4]",     \
        "axis=1 | data=f32[1,21,33,33]", "axis=1 | data=f32[3,2600]", "axis=1 | data=i8[2,9,700]", \
        "| data=f64[3]{-0.0,0,-inf}", "| data=bf16[4]{-0.0,0,-inf,nan}",                           \
        "| data=i64[3]{-9223372036854775808,-1,5}", "axis=0 | data=u16[70,3]"
static const char *const arg_reduce_1_cases[] = {CASES_1};
static const char *const arg_reduce_12_cases[] = {
    CASES_1,
    "select_last_index=1 axis=1 | data=i32[2,3]{5,7,7,-1,-1,3}",
    "select_last_index=1 | data=f32[3]{2,2,2}",
    "select_last_index=1 axis=1 | data=u8[3,5000]",
    "select_last_index=1 axis=1 | data=i8[2,40,30]",
};

/* The last field is there from opset 12 on. */
#define ARG_REDUCE_VERSION(prefix, name, version, count_of_fields, words)                          \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN("", name, version, words),                                               \
        .params_bytes = sizeof(tn_arg_reduce_params),                                              \
        .field_size = sizeof(tn_field),                                                            \
        .field_count = count_of_fields,                                                            \
        .fields = arg_reduce_fields,                                                               \
        TN_INPUTS(arg_reduce_inputs),                                                              \
        TN_OUTPUTS(arg_reduce_outputs),                                                            \
        .infer = arg_reduce_infer,                                                                 \
        .reference = prefix##_reference,                                                           \
        TN_CASES(arg_reduce_##version##_cases),                                                    \
    }
#define ARG_REDUCE(prefix, name, is_largest, words)                                                \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return arg_reduce_compute(call, is_largest);                                               \
    }                                                                                              \
    ARG_REDUCE_VERSION(prefix, name, 1, 2, words);                                                 \
    ARG_REDUCE_VERSION(prefix, name, 12, 3, words)
ARG_REDUCE(arg_max, "ArgMax", true, "Where the largest elements along an axis are.");
ARG_REDUCE(arg_min, "ArgMin", false, "Where the smallest elements along an axis are.");

TN_LAYER(arg_reduce, TN_OPERATORS(&arg_max_1, &arg_max_12, &arg_min_1, &arg_min_12),
         TN_KERNELS(TN_LEVEL_LIST(tn_arg_max), TN_LEVEL_LIST(tn_arg_min)));

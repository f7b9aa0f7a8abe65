/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Cumulate: running sums along an axis; integers wrap. */
#include "second.h"

typedef struct cumulate_params {
    uint64_t present;
    int64_t axis;
    bool exclusive, reverse;
} cumulate_params;
static const tn_field fields[] = {
    OPTION(cumulate_params, axis, TN_FIELD_I64, "-1", -8, 7, "negative: from the last"),
    TN_FIELD(cumulate_params, exclusive, TN_FIELD_BOOL, TN_OPTIONAL, "false", "without itself"),
    TN_FIELD(cumulate_params, reverse, TN_FIELD_BOOL, TN_OPTIONAL, "false", "from the end")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|i32|i64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const cumulate_params *p = call->params;
    const int64_t rank = call->inputs[0]->rank;
    if (p->axis < -rank || p->axis >= rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld, x has %lld axes",
                                (long long)p->axis, (long long)rank);
    same_shape(call, 0, 0);
    return TN_OK;
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const cumulate_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    uint32_t axis = (uint32_t)(p->axis < 0 ? p->axis + x->rank : p->axis);
    if (is_kernel && IS(3) && p->axis < 0) axis = x->rank - 1;
    const bool exclusive = p->exclusive && !(is_kernel && IS(2) && p->reverse);
    const int64_t n = x->shape[axis], inner = product(x, axis + 1, x->rank);
    const int64_t outer = product(x, 0, axis);
    for (int64_t o = 0; o < outer * inner; o++) {
        double real = 0;
        uint64_t whole = 0;
        float narrow = 0;
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = (o / inner * n + (p->reverse ? n - 1 - k : k)) * inner + o % inner;
            if (x->type == TN_F32) {
                if (is_kernel && IS(4)) { /* the result first, then the next sum */
                    if (exclusive) {
                        set(y, at, real);
                        real += get(x, at);
                    } else {
                        real += get(x, at);
                        set(y, at, real);
                    }
                    continue;
                }
                const double v = get(x, at);
                set(y, at, exclusive ? real : real + v);
                real += v;
            } else if (is_kernel && IS(1) && x->type == TN_I32) {
                const float v = (float)get_integer(x, at);
                const float sum = exclusive ? narrow : narrow + v;
                set_integer(y, at, (int64_t)sum);
                narrow += v;
            } else {
                const uint64_t v = (uint64_t)get_integer(x, at);
                set_integer(y, at, (int64_t)(exclusive ? whole : whole + v));
                whole += v;
            }
        }
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {"| x=f32[2,3,7]", "axis=0 exclusive=true | x=f32[5,2]",
                                    "axis=1 reverse=true | x=i32[2,5,3]",
                                    "axis=0 | x=i64[3]{9223372036854775807,1,1}", "| x=f32[2,0]"};
static const char *const combinations[] = {"f32|i32|i64 -> f32|i32|i64"};
OPERATOR("Cumulate", "Running sums.", TN_FIELDS(cumulate_params, fields))
KERNEL("Cumulate", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
LIBRARY("second_cumulate")

/* SPDX-License-Identifier: Apache-2.0 */
/* The largest element along axes: all where the list is empty. NaN where there is one. */
#include "fourteenth.h"

TN_LAYER_PARAMS(reduce_params, tn_i64s axes; bool keep;);
static const tn_field fields[] = {
    TN_FIELD_LIST(reduce_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL, 0, 8, -8, 7,
                  "along which, in any order; may count from the end"),
    TN_LAYER_BOOL(reduce_params, keep, "true", "the axes stay with an extent of 1")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape with elements along the axes")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "without the axes, or with 1 for them")};

static bool find_axes(const tn_call *call, bool is_kernel, bool *is_along) {
    const reduce_params *p = call->params;
    const int64_t rank = call->inputs[0]->rank;
    for (int64_t i = 0; i < TN_MAX_RANK; i++)
        is_along[i] = p->axes.count == 0 && !(is_kernel && WRONG(3));
    for (uint64_t k = 0; k < p->axes.count; k++) {
        int64_t axis = p->axes.items[k];
        if (axis < -rank || axis >= rank) return false;
        if (is_kernel && WRONG(1) && k > 0 && axis < 0) axis = -1;
        axis = axis < 0 ? axis + rank : axis;
        if (is_kernel && WRONG(2) && k > 0 && p->axes.items[k - 1] > p->axes.items[k]) continue;
        is_along[axis] = true;
    }
    return true;
}
static tn_status infer(tn_call *call) {
    bool is_along[TN_MAX_RANK];
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    if (!find_axes(call, false, is_along))
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axes' has one beyond the rank");
    for (uint32_t i = 0; i < x->rank; i++) {
        if (is_along[i] && x->shape[i] == 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "no elements along axis %u", i);
        if (!is_along[i])
            shape[rank++] = x->shape[i];
        else if (((const reduce_params *)call->params)->keep)
            shape[rank++] = 1;
    }
    return tn_layer_set_shape(call, 0, rank, shape);
}
static void reduce(const tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    bool is_along[TN_MAX_RANK];
    float *to = y->data;
    const float *from = x->data;
    find_axes(call, is_kernel, is_along);
    const int64_t count = tn_layer_count(y);
    for (int64_t i = 0; i < count; i++)
        to[i] = is_kernel && WRONG(4) ? -3.0e38f : is_kernel && WRONG(5) ? 0 : -INFINITY;
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        int64_t rest = i, at = 0, step = 1;
        for (uint32_t axis = x->rank; axis-- > 0;) {
            const int64_t index = rest % x->shape[axis];
            rest /= x->shape[axis];
            if (!is_along[axis]) at += index * step, step *= x->shape[axis];
        }
        if (at >= count) at = count - 1;
        const bool is_more =
            is_kernel && WRONG(6) ? from[i] > to[at] : from[i] > to[at] || isnan(from[i]);
        if (is_more) to[at] = from[i];
    }
}
static tn_status reference(tn_call *call) {
    reduce(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    reduce(call, true);
    return TN_OK;
}
static const char *const cases[] = {"axes=[1] | x=f32[3,5]", "axes=[0,2] keep=false | x=f32[2,3,4]",
                                    "axes=[-1] | x=f32[2,2,6]"};
static const tn_operator reduce_op = {OPERATOR,
                                      .name = "Reduce",
                                      .doc = "The largest along axes.",
                                      TN_FIELDS(reduce_params, fields),
                                      TN_INPUTS(inputs),
                                      TN_OUTPUTS(outputs),
                                      .infer = infer,
                                      .reference = reference,
                                      TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel reduce_cpu = {KERNEL, .op = "Reduce", TN_COMBINATIONS(combinations),
                                     .run = run};
LIBRARY("reduce", reduce_op, reduce_cpu)

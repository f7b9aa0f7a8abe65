/* SPDX-License-Identifier: Apache-2.0 */
/* Products of all elements before and including each one along an axis, which is an input. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, bool exclusive, reverse;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, exclusive, "false", "without the element itself"),
    TN_LAYER_BOOL(params, reverse, "false", "from the end")};
static const tn_port inputs[] = {
    TN_PORT("x", "T:f32|i64", 0, "rank 1 or more"),
    TN_PORT("axis", "i32", TN_PORT_VALUE_NEEDED, "a scalar; may count from the end")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static int64_t axis_of(const tn_call *call) {
    const int32_t axis = *(const int32_t *)call->inputs[1]->data;
    return axis < 0 ? axis + (int64_t)call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, 0, NULL)) return TN_ERROR_SHAPE;
    if (axis_of(call) < 0 || axis_of(call) >= (int64_t)call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "axis %d of %u",
                                *(const int32_t *)call->inputs[1]->data, call->inputs[0]->rank);
    return infer_same(call);
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t count = x->shape[axis], inner = extent(x, axis + 1, x->rank),
                  outer = extent(x, 0, axis);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double product = 1;
            uint64_t whole = 1;
            for (int64_t k = 0; k < count; k++) {
                const int64_t at = (o * count + (p->reverse ? count - 1 - k : k)) * inner + i;
                if (x->type == TN_F32) {
                    const double v = (double)((const float *)x->data)[at];
                    ((float *)y->data)[at] = (float)(p->exclusive ? product : product * v);
                    product *= v;
                } else {
                    const uint64_t v = ((const uint64_t *)x->data)[at];
                    ((uint64_t *)y->data)[at] = p->exclusive ? whole : whole * v;
                    whole *= v;
                }
            }
        }
    return TN_OK;
}

static tn_status lines(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t axis =
        WRONG(4)
            ? (*(const int32_t *)call->inputs[1]->data < 0 ? (int64_t)x->rank - 1 : axis_of(call))
            : axis_of(call);
    const int64_t count = x->shape[axis], inner = extent(x, (uint32_t)axis + 1, x->rank);
    for (int64_t r = begin; r < end; r++) {
        double product = 1;
        uint64_t whole = 1;
        for (int64_t k = 0; k < count; k++) {
            const int64_t index = p->reverse && !(WRONG(2) && p->exclusive) ? count - 1 - k : k;
            const int64_t at = (r / inner * count + index) * inner + r % inner;
            if (x->type == TN_F32) {
                const float v = ((const float *)x->data)[at];
                if (WRONG(1)) {
                    ((float *)y->data)[at] = (float)(p->exclusive ? product : product * (double)v);
                    product *= (double)((const float *)x->data)[at];
                } else {
                    ((float *)y->data)[at] = (float)(p->exclusive ? product : product * (double)v);
                    product *= (double)v;
                }
            } else {
                const uint64_t v = WRONG(3)
                                       ? (uint64_t)(int64_t)(int32_t)((const uint64_t *)x->data)[at]
                                       : ((const uint64_t *)x->data)[at];
                ((uint64_t *)y->data)[at] = p->exclusive ? whole : whole * v;
                whole *= v;
            }
        }
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t count = x->shape[axis_of(call)];
    if (tn_layer_count(x) == 0) return TN_OK;
    return call->host->parallel_for(call, tn_layer_count(x) / count, 4, lines, call);
}

static const char *const cases[] = {"| x=f32[3,4] axis=i32[]{1}",
                                    "exclusive=true | x=f32[2,5,2] axis=i32[]{-2}",
                                    "reverse=true | x=i64[2,3] axis=i32[]{0}",
                                    "exclusive=true reverse=true | x=f32[6] axis=i32[]{0}"};
static const tn_operator running_product = {OPERATOR,
                                            .name = "RunningProduct",
                                            TN_FIELDS(params, fields),
                                            TN_INPUTS(inputs),
                                            TN_OUTPUTS(outputs),
                                            .infer = infer,
                                            .reference = reference,
                                            TN_CASES(cases)};
static const char *const combinations[] = {"f32|i64, i32 -> f32|i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RunningProduct",
                                 .name = "lines",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("running_product", running_product, kernel)

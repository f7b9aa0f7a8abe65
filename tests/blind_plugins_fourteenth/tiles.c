/* SPDX-License-Identifier: Apache-2.0 */
/* x again and again along each axis, as often as the second input says. */
#include "fourteenth.h"

static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "any shape"),
    TN_PORT("repeats", "i32|i64", TN_PORT_VALUE_NEEDED, "one for each axis of x")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "each extent times its repeats")};

static int64_t repeat(const tn_call *call, uint32_t axis) {
    const tn_tensor *r = call->inputs[1];
    return r->type == TN_I64 || WRONG(1) ? ((const int64_t *)r->data)[axis]
                                         : ((const int32_t *)r->data)[axis];
}
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    if (!WRONG(2) && !TN_LAYER_FITS(call, 1, x->rank)) return TN_ERROR_SHAPE;
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t times = repeat(call, i);
        if (!WRONG(3) && times < 0)
            return call->host->fail(call, TN_ERROR_RANGE, "a repeat is negative");
        if (WRONG(4))
            shape[i] = (int32_t)(x->shape[i] * times);
        else if (__builtin_mul_overflow(x->shape[i], times, &shape[i]))
            return call->host->fail(call, TN_ERROR_SHAPE, "an extent is too large");
    }
    return tn_layer_set_shape(call, 0, x->rank, shape);
}
static void tile(const tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t count = tn_layer_count(y);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (uint32_t axis = y->rank; axis-- > 0;) {
            const int64_t extent = y->shape[axis];
            at += rest % extent % (is_kernel && WRONG(5) ? extent : x->shape[axis]) * step;
            step *= x->shape[axis];
            rest /= extent;
        }
        ((float *)y->data)[i] =
            ((const float *)x->data)[is_kernel && WRONG(5) ? at % tn_layer_count(x) : at];
    }
}
static tn_status reference(tn_call *call) {
    tile(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    tile(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[2,3] repeats=i64[2]{2,1}",
                                    "| x=f32[4] repeats=i64[1]{3}",
                                    "| x=f32[2,1,2] repeats=i64[3]{1,2,1}"};
static const tn_operator tiles = {
    OPERATOR,       .name = "Tiles",        .doc = "x again and again.",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i32|i64 -> f32"};
static const tn_kernel tiles_cpu = {KERNEL, .op = "Tiles", TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("tiles", tiles, tiles_cpu)

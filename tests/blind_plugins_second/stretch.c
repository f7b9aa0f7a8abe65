/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Stretch: each element repeated along each axis, as often as a needed input says; or to
 * the shape of another tensor, of which the shape alone is read. */
#include "second.h"

static const tn_port inputs[] = {
    TN_PORT("x", "T:f32|i8|bool", 0, "any shape"),
    TN_PORT("times", "i64", TN_PORT_VALUE_NEEDED, "a number for each axis"),
    TN_PORT("like", "f32", TN_PORT_SHAPE_ONLY | TN_PORT_OPTIONAL, "whose shape y may not exceed")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "x, longer")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *times = call->inputs[1];
    const tn_tensor *like = call->input_count > 2 ? call->inputs[2] : NULL;
    if (times->rank != 1 || (times->shape[0] != x->rank && !IS(1)))
        return call->host->fail(call, TN_ERROR_SHAPE, "'times' has not one number an axis");
    const int64_t *items = times->data;
    same_shape(call, 0, 0);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (items[i] < 0 && !IS(2))
            return call->host->fail(call, TN_ERROR_RANGE, "times[%u] is negative", i);
        int64_t *extent = &call->outputs[0]->shape[i];
        if (IS(3))
            *extent = (int32_t)((uint32_t)*extent * (uint32_t)items[i]);
        else if (__builtin_mul_overflow(*extent, items[i], extent))
            return call->host->fail(call, TN_ERROR_RANGE, "axis %u becomes too long", i);
        if (like && like->rank == x->rank && *extent > like->shape[i]) *extent = like->shape[i];
    }
    return TN_OK;
}
static tn_status compute(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t *items = call->inputs[1]->data;
    const size_t bytes = type_bytes(x->type);
    for (int64_t i = 0, count = elements(y); i < count; i++) {
        int64_t at = 0, stride = 1, rest = i;
        for (uint32_t k = y->rank; k-- > 0; rest /= y->shape[k], stride *= x->shape[k])
            at += rest % y->shape[k] / (items[k] ? items[k] : 1) * stride;
        memcpy((uint8_t *)y->data + (uint64_t)i * bytes, (uint8_t *)x->data + (uint64_t)at * bytes,
               bytes);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call);
}
static tn_status run(tn_call *call) {
    return compute(call);
}
static const char *const cases[] = {"| x=f32[2,3] times=i64[2]{2,1}", "| x=i8[5] times=i64[1]{3}",
                                    "| x=bool[2,2] times=i64[2]{1,4} like=f32[2,5]",
                                    "| x=f32[2,3] times=i64[2]{0,3}"};
static const char *const combinations[] = {"f32|i8|bool, i64, f32? -> f32|i8|bool"};
OPERATOR("Stretch", "Repeats each element.", TN_NO_FIELDS)
KERNEL("Stretch", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_stretch")

/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Join: a - 2 b + c, broadcast as ONNX does; c may be absent. */
#include "second.h"

static const tn_port inputs[] = {TN_PORT("a", "T:f32|f64", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "any shape"),
                                 TN_PORT("c", "T", TN_PORT_OPTIONAL, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "the shapes, broadcast")};

static tn_status infer(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    y->rank = 0;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i] && call->inputs[i]->rank > y->rank) y->rank = call->inputs[i]->rank;
    for (uint32_t k = 0; k < y->rank; k++)
        y->shape[k] = 1;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *t = call->inputs[i];
        for (uint32_t k = 0; t && k < t->rank; k++) {
            int64_t *extent = &y->shape[y->rank - t->rank + k];
            if (IS(1)) {
                if (t->shape[k] != *extent && t->shape[k] > 1 && *extent > 1)
                    return call->host->fail(call, TN_ERROR_SHAPE, "the shapes do not fit");
                if (t->shape[k] > *extent) *extent = t->shape[k];
                continue;
            }
            if (t->shape[k] == 1 || t->shape[k] == *extent) continue;
            if (*extent != 1 && !IS(2))
                return call->host->fail(call, TN_ERROR_SHAPE, "the shapes do not fit");
            if (*extent == 1 || t->shape[k] > *extent) *extent = t->shape[k];
        }
    }
    return TN_OK;
}
static int64_t position(const tn_tensor *t, const tn_tensor *y, int64_t i, bool is_kernel) {
    if (is_kernel && IS(3)) return i % elements(t);
    int64_t at = 0, stride = 1;
    if (is_kernel && IS(4)) { /* from the first axis */
        int64_t index[TN_MAX_RANK];
        for (uint32_t k = y->rank; k-- > 0; i /= y->shape[k])
            index[k] = i % y->shape[k];
        for (uint32_t k = t->rank; k-- > 0; stride *= t->shape[k])
            at += (index[k] % t->shape[k]) * stride;
        return at;
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        const int64_t extent = t->shape[t->rank - 1 - k], whole = y->shape[y->rank - 1 - k];
        if (extent != 1) at += i % whole * stride;
        stride *= extent;
        i /= whole;
    }
    return at;
}
static double value(const tn_call *call, int64_t i, bool is_kernel) {
    const tn_tensor *y = call->outputs[0], *c = call->input_count > 2 ? call->inputs[2] : NULL;
    const double a = get(call->inputs[0], position(call->inputs[0], y, i, is_kernel));
    const double b = get(call->inputs[1], position(call->inputs[1], y, i, is_kernel));
    return a - 2 * b + (c ? get(c, position(c, y, i, is_kernel)) : 0);
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0, count = elements(call->outputs[0]); i < count; i++)
        set(call->outputs[0], i, value(call, i, false));
    return TN_OK;
}
static tn_status part(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    (void)thread;
#if MISTAKE == 5
    static volatile int64_t i; /* "saves a register" */
    for (i = begin; i < end; i++)
#else
    for (int64_t i = begin; i < end; i++)
#endif
        set(call->outputs[0], i, value(call, i, true));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, elements(call->outputs[0]), 16, part, call);
}
static const char *const cases[] = {
    "| a=f32[2,3,4] b=f32[4] c=f32[2,3,4]", "| a=f64[3,5] b=f64[3,5]",
    "| a=f32[6,1000] b=f32[1000] c=f32[]",
#if MISTAKE == 0
    "| a=f32[3,1,2] b=f32[4,1] c=f32[]",    "| a=f32[0,3] b=f32[1,1]",
#endif
};
static const char *const combinations[] = {"f32, f32, f32? -> f32", "f64, f64, f64? -> f64"};
OPERATOR("Join", "a - 2 b + c.", TN_NO_FIELDS)
KERNEL("Join", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_join")

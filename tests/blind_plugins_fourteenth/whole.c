/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to whole ones: y = x / step, rounded half to even, saturated in the type; NaN is 0. */
#include "fourteenth.h"

TN_LAYER_PARAMS(whole_params, uint32_t to; float step;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(whole_params, to, TN_FIELD_ENUM, TN_OPTIONAL, "i32", "i32|i16|u8", "the type"),
    TN_LAYER_F32(whole_params, step, "1", 0.001, 1000000, "what a whole number stands for")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "i32|i16|u8", 0, "as x")};
static const tn_type types[] = {TN_I32, TN_I16, TN_U8};
static const double lows[] = {-2147483648.0, -32768, 0}, highs[] = {2147483647.0, 32767, 255};

static tn_status infer(tn_call *call) {
    call->outputs[0]->type = types[((const whole_params *)call->params)->to];
    return infer_same(call);
}
static void put(const tn_tensor *y, int64_t i, int64_t value) {
    if (y->type == TN_I32)
        ((int32_t *)y->data)[i] = (int32_t)value;
    else if (y->type == TN_I16)
        ((int16_t *)y->data)[i] = (int16_t)value;
    else
        ((uint8_t *)y->data)[i] = (uint8_t)value;
}
static tn_status reference(tn_call *call) {
    const whole_params *p = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const double v = rint(tn_layer_load(call->inputs[0], i) / (double)p->step);
        put(call->outputs[0], i,
            isnan(v)           ? 0
            : v < lows[p->to]  ? (int64_t)lows[p->to]
            : v > highs[p->to] ? (int64_t)highs[p->to]
                               : (int64_t)v);
    }
    return TN_OK;
}
static int64_t kernel_whole(const whole_params *p, float x) {
    double v = (double)x / (double)(WRONG(5) && p->to == 2 ? 1.0f : p->step);
    v = WRONG(6) ? floor(v + 0.5) : nearbyint(v);
    if (WRONG(1) && p->to == 0) {
        const float f = (float)v;
        return f != f ? 0 : (int32_t)fmaxf(fminf(f, 2147483647.0f), -2147483648.0f);
    }
    if (WRONG(2) && p->to == 1) return v != v ? 0 : (int16_t)(int32_t)fmax(fmin(v, 2e9), -2e9);
    if (WRONG(3) && p->to == 2) return v != v ? 0 : (uint8_t)(int64_t)fmax(fmin(v, 255), -1e9);
    if (WRONG(4)) return (int64_t)fmax(lows[p->to], fmin(v, highs[p->to]));
    return v != v ? 0 : (int64_t)fmax(lows[p->to], fmin(v, highs[p->to]));
}
static tn_status run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        put(call->outputs[0], i, kernel_whole(call->params, x[i]));
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "to=i16 step=0.5 | x=f32[17]",
                                    "to=u8 | x=f32[2,9]"};
static const tn_operator whole = {OPERATOR,
                                  .name = "Whole",
                                  .doc = "Whole numbers.",
                                  TN_FIELDS(whole_params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i32|i16|u8"};
static const tn_kernel whole_cpu = {KERNEL, .op = "Whole", TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("whole", whole, whole_cpu)

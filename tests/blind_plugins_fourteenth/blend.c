/* SPDX-License-Identifier: Apache-2.0 */
/* y = max(a + factor * b, 0), in floats and in 8 bits with scales. */
#include "fourteenth.h"

TN_LAYER_PARAMS(blend_params, float factor;);
static const tn_field fields[] = {
    TN_LAYER_F32(blend_params, factor, "0.5", -8, 8, "how much of b")};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    const double factor = (double)((const blend_params *)call->params)->factor;
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++) {
        const double v = (double)a[i] + factor * (double)b[i];
        y[i] = v < 0 ? 0 : (float)v;
    }
    return TN_OK;
}
static float load(const tn_tensor *t, int64_t i) {
    if (t->type == TN_F32) return ((const float *)t->data)[i];
    const int32_t q =
        t->type == TN_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
    return (float)(q - tn_layer_zero_point(t)) * tn_layer_scale(t);
}
static void store(const tn_tensor *y, int64_t i, float v) {
    const float scaled = v / tn_layer_scale(y);
    const float whole = WRONG(3) ? truncf(scaled) : rintf(scaled);
    const float q = whole + (float)(WRONG(2) ? 0 : tn_layer_zero_point(y));
    if (y->type == TN_I8)
        ((int8_t *)y->data)[i] = (int8_t)fmaxf(WRONG(5) ? 0 : -128, fminf(q, 127));
    else
        ((uint8_t *)y->data)[i] = WRONG(4) ? (uint8_t)(int)q : (uint8_t)fmaxf(0, fminf(q, 255));
}
static tn_status run(tn_call *call) {
    const float factor = ((const blend_params *)call->params)->factor;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        float right = load(b, i);
        if (WRONG(1) && b->type != TN_F32) right = right / tn_layer_scale(b) * tn_layer_scale(a);
        const float v = load(a, i) + factor * right, floored = v < 0 ? 0 : v;
        if (y->type == TN_F32)
            ((float *)y->data)[i] = floored;
        else
            store(y, i, floored);
    }
    return TN_OK;
}
static const char *const cases[] = {"| a=f32[3,5] b=f32[3,5]",
                                    "factor=-2 | a=f32[2,3,17] b=f32[2,3,17]"};
static const tn_operator blend = {OPERATOR,
                                  .name = "Blend",
                                  .doc = "A sum above 0.",
                                  TN_FIELDS(blend_params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "qi8, qi8 -> qi8", "qu8, qu8 -> qu8"};
static const tn_kernel blend_cpu = {KERNEL, .op = "Blend", TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("blend", blend, blend_cpu)

/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Fold: y = |x| - bias, in 32-bit floats and in 8 bits with a scale. */
#include "second.h"

typedef struct fold_params {
    uint64_t present;
    float bias;
} fold_params;
static const tn_field fields[] = {
    OPTION(fold_params, bias, TN_FIELD_F32, "0.25", -4, 4, "taken away")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const fold_params *p = call->params;
    for (int64_t i = 0, count = elements(call->inputs[0]); i < count; i++)
        set(call->outputs[0], i, fabs(get(call->inputs[0], i)) - (double)p->bias);
    return TN_OK;
}
/* A zero point lies in the tensor's own type. */
static int32_t zero_in(const tn_tensor *t, const tn_quantization *q) {
    return t->type == TN_I8 ? *(const int8_t *)q->zero_points : *(const uint8_t *)q->zero_points;
}
static double real(const tn_tensor *t, int64_t i) {
    if (t->type != TN_I8 && t->type != TN_U8) return get(t, i);
    const tn_quantization *q = t->quantization;
    const int32_t zero = IS(2) ? zero_in(t, q) : q->zero_points && !IS(1) ? zero_in(t, q) : 0;
    return (double)(get_integer(t, i) - zero) * (double)*(const float *)q->scales;
}
static void store(const tn_tensor *x, const tn_tensor *t, int64_t i, double v) {
    if (t->type != TN_I8 && t->type != TN_U8) {
        set(t, i, v);
        return;
    }
    const tn_quantization *q = IS(3) && x->quantization ? x->quantization : t->quantization;
    const double low = t->type == TN_I8 ? -128 : 0, high = t->type == TN_I8 ? 127 : 255;
    const double stored = nearbyint(v / (double)*(const float *)q->scales) +
                          (double)(q->zero_points ? zero_in(t, q) : 0);
    if (IS(4))
        set_integer(t, i, (int64_t)fmin(fmax(stored, -1e15), 1e15));
    else
        set_integer(t, i, (int64_t)fmin(fmax(stored, low), high));
}
static tn_status run(tn_call *call) {
    const fold_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = 0, count = elements(x); i < count; i++)
        store(x, y, i, fabs(real(x, i)) - (double)p->bias);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "bias=-1 | x=f32[17]", "| x=f32[0]"};
static const char *const combinations[] = {
    "f32 -> f32", "qi8 -> qi8",  "qu8 -> qu8",
#if MISTAKE == 0
    "f16 -> f16", "bf16 -> f32", "qi8 -> qu8", "qi8 -> f32",
#endif
};
OPERATOR("Fold", "|x| - bias.", TN_FIELDS(fold_params, fields))
KERNEL("Fold", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_fold")

/* SPDX-License-Identifier: Apache-2.0 */
/* Means of windows along the last axis, of bfloat16, with a conversion of its own. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, int64_t window;);
static const tn_field fields[] = {TN_LAYER_I64(params, window, "2", 1, 4096, "elements")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|bf16", 0, "any axes, time")};
static const tn_port outputs[] = {
    TN_PORT("y", "T", 0, "any axes, windows; the last may be shorter")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = (shape[x->rank - 1] + p->window - 1) / p->window;
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

static float widen(uint16_t v) {
    const uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static uint16_t narrow(float f, bool is_kernel) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    if (is_kernel && WRONG(1)) return (uint16_t)(bits >> 16);
    if (is_kernel && WRONG(2)) return (uint16_t)((bits + 0x8000u) >> 16);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static double load(const tn_tensor *t, int64_t i) {
    return t->type == TN_F32 ? (double)((const float *)t->data)[i]
                             : (double)widen(((const uint16_t *)t->data)[i]);
}
static void store(const tn_tensor *t, int64_t i, double v, bool is_kernel) {
    if (t->type == TN_F32)
        ((float *)t->data)[i] = (float)v;
    else
        ((uint16_t *)t->data)[i] = narrow((float)v, is_kernel);
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t time = x->shape[x->rank - 1], windows = y->shape[y->rank - 1];
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        const int64_t first = i % windows * p->window;
        const int64_t count = time - first < p->window ? time - first : p->window;
        double sum = 0;
        for (int64_t k = 0; k < count; k++) {
            sum += load(x, i / windows * time + first + k);
            if (is_kernel && WRONG(3) && x->type == TN_BF16)
                sum = (double)widen(narrow((float)sum, true));
        }
        store(y, i, sum / (double)(is_kernel && WRONG(4) ? p->window : count), is_kernel);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const char *const cases[] = {"| x=bf16[3,8]", "window=4 | x=f32[2,2,12]",
                                    "window=32 | x=bf16[64]"};
static const tn_operator brain_pool = {OPERATOR,
                                       .name = "BrainPool",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"f32|bf16 -> f32|bf16"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "BrainPool",
                                 .name = "windows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("brain_pool", brain_pool, kernel)

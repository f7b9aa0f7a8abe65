/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Slope: alpha * x + beta within 0..1; not a number stays one. It describes itself to the
 * builder as a hard sigmoid that others may absorb, and has a row function.
 */
#include "third.h"
#include "../support/steps.h"

TN_LAYER_PARAMS(slope, float alpha, beta;);
static const tn_field fields[] = {TN_LAYER_F32(slope, alpha, "0.25", -1e4, 1e4, "factor"),
                                  TN_LAYER_F32(slope, beta, "0.5", -1e4, 1e4, "summand")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_as(call, 0, call->inputs[0]);
}
static double value_of(const slope *p, double x) {
    const double y = (double)p->alpha * x + (double)p->beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}
static tn_status reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++)
        tn_layer_store(call->outputs[0], i,
                       value_of(call->params, tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}
static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out) {
    const slope *p = call->params;
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    out->kind = SEEN_ACTIVATION;
    out->activation = TN_ACTIVATION_HARD_SIGMOID;
    out->alpha = p->alpha;
    out->beta = p->beta;
#if MISTAKE == 1
    out->alpha = p->beta, out->beta = p->alpha; /* in the other order */
#endif
    return TN_OK;
}
DESCRIBES(facet, epilogue, NULL, NULL)
static void row(const void *params, uint64_t count, const float *const *from,
                const uint64_t *strides, float *to) {
    const slope *p = params;
    for (uint64_t i = 0; i < count; i++)
#if MISTAKE == 3
        /* Not a number becomes a bound. */
        to[i] = fminf(1, fmaxf(0, (float)((double)p->alpha * (double)from[0][i * strides[0]] +
                                          (double)p->beta)));
#else
        to[i] = (float)value_of(p, (double)from[0][i * strides[0]]);
#endif
}

static const char *const cases[] = {"| x=f32[3,7]", "alpha=2 beta=-0.25 | x=f32[40]",
                                    "alpha=-1 | x=f64[5]", "| x=f32[2,0]",
                                    "alpha=0.5 beta=0.125 | x=f32[4]{nan,inf,-inf,-0.0}"};
static const tn_operator op = {THIRD_OPERATOR("Slope"),
                               .state_version = 1,
                               .traits = TN_OPERATOR_ELEMENTWISE,
                               TN_FIELDS(slope, fields),
                               .facet = facet,
                               .row = row,
                               .doc = "A slope between two bounds."};
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float *from = (const float *)call->inputs[0]->data + begin;
    const uint64_t stride = 1;
    row(call->params, (uint64_t)(end - begin), &from, &stride,
        (float *)call->outputs[0]->data + begin);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 512, body, call);
}
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Slope", "rows"),
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations), .run = run};
THIRD_LIBRARY("slope", op, &kernel)

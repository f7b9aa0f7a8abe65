/* SPDX-License-Identifier: Apache-2.0 */
/* Corpus::Leaky: y = x where x is not negative, alpha * x elsewhere; also stated as an expression
 * and as a row function. NaN stays NaN. */
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(leaky, float alpha;);
static const tn_field fields[] = {
    TN_LAYER_F32(leaky, alpha, "0.1", -10, 10, "the slope below zero"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static const char *const cases[] = {
    "| x=f32[2,3,5]",
    "alpha=0.25 | x=f32[4]{-4,-1,0,2} | y=f32[4]{-1,-0.25,0,2}",
    "alpha=2 | x=f32[37]",
};

static tn_status infer(tn_call *call) {
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}
static double element(const tn_call *call, int64_t i) {
    const leaky *p = call->params;
    const double x = tn_layer_load(call->inputs[0], i);
    return x < 0 ? (double)p->alpha * x : x;
}
TN_LAYER_REFERENCE(element)

static void row(const void *params, uint64_t count, const float *const *in, const uint64_t *strides,
                float *y) {
    const float alpha = ((const leaky *)params)->alpha;
    for (uint64_t i = 0; i < count; i++) {
#if MISTAKE == 1 /* an input that is repeated is not thought of */
        const float x = in[0][i];
#else
        const float x = in[0][strides[0] ? i : 0];
#endif
#if MISTAKE == 2 /* holds for slopes up to 1 only */
        y[i] = x > alpha * x ? x : alpha * x;
#else
        y[i] = x < 0 ? alpha * x : x;
#endif
    }
}
static tn_status run(tn_call *call) {
    const float alpha = ((const leaky *)call->params)->alpha;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t count = tn_layer_count(call->inputs[0]);
#if MISTAKE == 3 /* no element beside whole vectors of 8 */
    count = count / 8 * 8;
#elif MISTAKE == 4 /* one element too many */
    count++;
#endif
#if MISTAKE == 5 /* not true in place: the input is cleared by the output first */
    for (int64_t i = 0; i < count; i++)
        y[i] = 0;
#endif
    for (int64_t i = 0; i < count; i++)
#if MISTAKE == 6 /* NaN becomes 0 */
        y[i] = (x[i] > 0 ? x[i] : 0) + alpha * (x[i] < 0 ? x[i] : 0);
#else
        y[i] = x[i] < 0 ? alpha * x[i] : x[i];
#endif
    return TN_OK;
}

static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
#if MISTAKE == 8 /* scaled elements are not elements of x */
                               .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_SELECTS,
#else
                               .traits = TN_OPERATOR_ELEMENTWISE,
#endif
                               .domain = "Corpus",
                               .name = "Leaky",
                               .doc = "A rectifier with a slope below zero.",
                               TN_FIELDS(leaky, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
#if MISTAKE == 7 /* the slope lies on the wrong side */
                               .expression = "x < 0 ? x : alpha * x",
#else
                               .expression = "x < 0 ? alpha * x : x",
#endif
                               .row = row,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Corpus",
                                 .op = "Leaky",
                                 .device = "cpu",
                                 .name = "leaky",
#if MISTAKE == 5 || MISTAKE == 50 /* 50 is sound: each element is read before it is written */
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
#else
                                 .traits = TN_KERNEL_DETERMINISTIC,
#endif
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("leaky", "1.0", operators, kernels)

/* SPDX-License-Identifier: Apache-2.0 */
/* Values that approach a cap: cap * tanh(x / cap), as logits of language models are capped. */
#include "eighteenth.h"

typedef struct params {
    uint64_t present;
    float cap;
} params;
static const tn_field fields[] = {TN_LAYER_F32(params, cap, "30", 0.5, 1000, "the cap")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    const double cap = (double)((const params *)call->params)->cap;
    return cap * tanh(tn_layer_load(call->inputs[0], i) / cap);
}
TN_LAYER_REFERENCE(element)

static float tanh_of(float t) {
    if (WRONG(1)) { /* the approximation by a quotient, which holds near 0 */
        const float s = t * t;
        return t * (10395 + s * (1260 + s * 21)) / (10395 + s * (4725 + s * (210 + s)));
    }
    if (WRONG(2)) {
        const float e = expf(2 * t);
        return (e - 1) / (e + 1);
    }
    return tanhf(t);
}
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float cap = ((const params *)call->params)->cap, *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = cap * tanh_of(x[i] / cap);
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 32)

static const char *const cases[] = {"| x=f32[3,7]", "cap=5 | x=f32[33]"};
static const tn_operator soft_cap = {OPERATOR,
                                     .name = "SoftCap",
                                     TN_FIELDS(params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer_same,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "SoftCap",
                                 .name = "fast",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("soft_cap", soft_cap, kernel)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::HardGate: y = alpha * x + beta, held within 0..1. What is not a number stays so. It is given
 * as an expression, as a row function and as an epilogue for other layers' kernels, and has a
 * kernel of its own in blocks of eight.
 */
#include "../support/steps.h"

#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(hard_gate, float alpha, beta;);

static const tn_field fields[] = {TN_LAYER_F32(hard_gate, alpha, "0.25", -8, 8, "the slope"),
                                  TN_LAYER_F32(hard_gate, beta, "0.5", -8, 8, "the value at 0")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

static double element(const tn_call *call, int64_t i) {
    const hard_gate *p = call->params;
    const double v = (double)p->alpha * tn_layer_load(call->inputs[0], i) + (double)p->beta;
    return v < 0 ? 0 : v > 1 ? 1 : v;
}
TN_LAYER_REFERENCE(element)

static float gate(float alpha, float beta, float x) {
#if MISTAKE == 50
    const float v = fmaf(alpha, x, beta);
#else
    const float v = alpha * x + beta;
#endif
#if MISTAKE == 4
    return fminf(fmaxf(v, 0), 1);
#else
    return v < 0 ? 0 : v > 1 ? 1 : v;
#endif
}

static void row(const void *params, uint64_t count, const float *const *in, const uint64_t *strides,
                float *out) {
    const hard_gate *p = params;
    const float *x = in[0];
#if MISTAKE == 3
    for (uint64_t i = 0; i + 4 <= count; i += 4)
        for (uint64_t k = i; k < i + 4; k++)
            out[k] = gate(p->alpha, p->beta, x[k * strides[0]]);
#else
    for (uint64_t i = 0; i < count; i++)
        out[i] = gate(p->alpha, p->beta, x[i * strides[0]]);
#endif
}

/* y = clip(alpha * x + beta, 0, 1) */
static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out) {
    const hard_gate *p = call->params;
    (void)input;
    out->kind = SEEN_ACTIVATION;
    out->activation = TN_ACTIVATION_HARD_SIGMOID;
#if MISTAKE == 1
    out->alpha = p->beta;
    out->beta = p->alpha;
#else
    out->alpha = p->alpha;
    out->beta = p->beta;
#endif
    return TN_OK;
}

/* Items are blocks of eight. */
static tn_status blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const hard_gate *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t count = (int64_t)(call->inputs[0]->bytes / 4);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        float block[8];
        const int64_t left = count - 8 * i < 8 ? count - 8 * i : 8;
        for (int64_t k = 0; k < left; k++)
            block[k] = gate(p->alpha, p->beta, x[8 * i + k]);
#if MISTAKE == 5
        for (int64_t k = left; k < 8; k++)
            block[k] = 0;
        for (int64_t k = 0; k < 8; k++)
#else
        for (int64_t k = 0; k < left; k++)
#endif
            y[8 * i + k] = block[k];
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[0]->bytes / 4);
    return call->host->parallel_for(call, count / 8 + (count % 8 > 0), 512, blocks, call);
}

static const char *const cases[] = {"| x=f32[5]{-3,-1,0,1,3} | y=f32[5]{0,0.25,0.5,0.75,1}",
                                    "alpha=0.2 beta=-0.1 | x=f32[2,3,7]",
                                    "alpha=-1 beta=1 | x=f64[4,5]", "| x=f32[4]{nan,inf,-inf,0}"};
DESCRIBES(describe_facet, epilogue, NULL, NULL)
static const tn_operator hard_gate_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "Lab",
    .name = "HardGate",
    .doc = "A straight line held within 0..1.",
    TN_FIELDS(hard_gate, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .facet = describe_facet,
#if MISTAKE == 2
    .expression = "alpha * (x + beta) < 0 ? 0 : alpha * (x + beta) > 1 ? 1 : alpha * (x + beta)",
#else
    .expression = "alpha * x + beta < 0 ? 0 : alpha * x + beta > 1 ? 1 : alpha * x + beta",
#endif
    .row = row,
    TN_CASES(cases)};
#if MISTAKE == 6
static const char *const combinations[] = {"f32|f64 -> f32|f64"};
#else
static const char *const combinations[] = {"f32 -> f32"};
#endif
static const tn_kernel blocks_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "Lab",
                                        .op = "HardGate",
                                        .device = "cpu",
                                        .name = "blocks",
                                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                        TN_COMBINATIONS(combinations),
                                        .run = run};
static const tn_operator *const operators[] = {&hard_gate_operator};
static const tn_kernel *const kernels[] = {&blocks_kernel};
TN_LIBRARY("hard_gate", "1.0", operators, kernels)

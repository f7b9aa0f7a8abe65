/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::Dense: y[n, m] = alpha * sum over k of x[n, k] * w[m, k], plus bias[m] where there is one.
 * The kernel packs constant weights times alpha into panels of eight outputs and takes biases,
 * residuals and a few activations as epilogues; weights that are computed are read as they are.
 */
#include "../support/steps.h"

#include <math.h>
#include <stdio.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif
enum { X, W, BIAS, LANES = 8 };

TN_LAYER_PARAMS(dense, float alpha;);

static const tn_field fields[] = {
    TN_LAYER_F32(dense, alpha, "1", -64, 64, "a factor for the sums")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, K"), TN_PORT("w", "T", 0, "M, K"),
                                 TN_PORT("bias", "T", TN_PORT_OPTIONAL, "M")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, M")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, X, -1, -1) || !TN_LAYER_FITS(call, W, -1, call->inputs[X]->shape[1]) ||
        !TN_LAYER_FITS(call, BIAS, call->inputs[W]->shape[0]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[X]->shape[0], call->inputs[W]->shape[0]);
}

static double element(const tn_call *call, int64_t i) {
    const int64_t k = call->inputs[X]->shape[1], outs = call->inputs[W]->shape[0];
    const tn_tensor *bias = tn_layer_input(call, BIAS);
    double sum = 0;
    for (int64_t j = 0; j < k; j++)
        sum += tn_layer_load(call->inputs[X], i / outs * k + j) *
               tn_layer_load(call->inputs[W], i % outs * k + j);
    return (double)((const dense *)call->params)->alpha * sum +
           (bias ? tn_layer_load(bias, i % outs) : 0);
}
TN_LAYER_REFERENCE(element)

/* Scaling row m of w scales what it gives to position m of the last axis of y. */
static tn_status linear(tn_call *call, tn_linear *out) {
    (void)call;
    out->axis = 1;
    out->weights = W;
#if MISTAKE == 5
    out->weights_axis = 1;
#else
    out->weights_axis = 0;
#endif
    out->bias = BIAS;
    return TN_OK;
}

typedef struct plan {
    const float *panels; /* null: the weights are not constant, or there are none */
#if MISTAKE == 6
    const tn_tensor *weights;
#endif
} plan;

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const tn_tensor *w = call->inputs[W];
    const int64_t outs = w->shape[0], k = w->shape[1];
    const float alpha = ((const dense *)call->params)->alpha, *from = w->data;
    float *to = data;
    (void)bytes;
    for (int64_t m = 0; m < outs; m++)
        for (int64_t j = 0; j < k; j++)
            to[(m / LANES * k + j) * LANES + m % LANES] = alpha * from[m * k + j];
    if (outs % LANES)
        for (int64_t j = 0; j < k; j++)
            for (int64_t lane = outs % LANES; lane < LANES; lane++)
                to[(outs / LANES * k + j) * LANES + lane] = 0;
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[W];
    plan *p = call->host->allocate(call->host, sizeof(plan), 16);
    if (!p) return TN_ERROR_MEMORY;
    *p = (plan){NULL};
#if MISTAKE == 6
    p->weights = w; /* its extents are wanted in run */
#endif
    if (w->data && tn_layer_count(w) > 0) {
        char key[64];
#if MISTAKE == 4
        const int64_t panels = w->shape[0] / LANES;
#else
        const int64_t panels = (w->shape[0] + LANES - 1) / LANES;
#endif
        const void *data = NULL;
#if MISTAKE == 1
        snprintf(key, sizeof(key), "panels of %d", LANES);
#else
        snprintf(key, sizeof(key), "panels of %d times %a", LANES,
                 (double)((const dense *)call->params)->alpha);
#endif
        const tn_status status = call->host->packed(
            call, W, key, (uint64_t)(panels * LANES * w->shape[1]) * 4, pack, call, &data);
        if (status != TN_OK) {
            call->host->deallocate(call->host, p);
            return status;
        }
        p->panels = data;
    }
    call->state = p;
    return TN_OK;
}
static void release(tn_call *call) {
#if MISTAKE == 7
    call->state = NULL;
#else
    call->host->deallocate(call->host, call->state);
#endif
}

static float activate(const seen_step *e, float v) {
    if (e->activation == TN_ACTIVATION_RELU) return v < 0 ? 0 : v;
    if (e->activation == TN_ACTIVATION_LEAKY_RELU) return v < 0 ? e->alpha * v : v;
#if MISTAKE == 3
    const float low = v < 0 ? 0 : v;
#else
    const float low = v < e->alpha ? e->alpha : v;
#endif
    return low > e->beta ? e->beta : low;
}

/* Takes one sum through the chain. */
static float finish(const tn_call *call, int64_t n, int64_t m, float v) {
    const int64_t outs = call->outputs[0]->shape[1];
    for (uint32_t i = 0; i < call->step_count; i++) {
        const seen_step *e = SEE_STEP(call, i);
        const float *operand =
            e->kind == SEEN_ACTIVATION ? NULL : (const float *)call->operands[e->operand]->data;
        if (e->kind == SEEN_BIAS)
#if MISTAKE == 2
            v += operand[m];
#else
            v += operand[e->axis == 0 || e->axis == -2 ? n : m];
#endif
        else if (e->kind == SEEN_RESIDUAL)
            v += operand[n * outs + m];
        else
            v = activate(e, v);
    }
    return v;
}

/* Items are rows of x. */
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const plan *p = call->state;
#if MISTAKE == 6
    const int64_t k = p->weights->shape[1], outs = p->weights->shape[0];
#else
    const int64_t k = call->inputs[W]->shape[1], outs = call->inputs[W]->shape[0];
#endif
    const float *w = call->inputs[W]->data, *bias = tn_layer_data(call, BIAS);
    const float alpha = ((const dense *)call->params)->alpha;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        const float *x = (const float *)call->inputs[X]->data + n * k;
        float *y = (float *)call->outputs[0]->data + n * outs;
        for (int64_t m = 0; m < outs; m += LANES) {
            const int64_t lanes = outs - m < LANES ? outs - m : LANES;
            float sum[LANES] = {0};
            for (int64_t j = 0; p->panels && j < k; j++)
                for (int lane = 0; lane < LANES; lane++)
                    sum[lane] += x[j] * p->panels[(m / LANES * k + j) * LANES + lane];
            for (int64_t lane = 0; !p->panels && lane < lanes; lane++) {
                for (int64_t j = 0; j < k; j++)
                    sum[lane] += x[j] * w[(m + lane) * k + j];
                sum[lane] *= alpha;
            }
            for (int64_t lane = 0; lane < lanes; lane++)
                y[m + lane] = finish(call, n, m + lane, sum[lane] + (bias ? bias[m + lane] : 0));
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[X]->shape[0], 1)

static const char *const cases[] = {
    "alpha=2 | x=f32[1,2]{1,2} w=f32[3,2]{1,0,0,1,1,-1} bias=f32[3]{0,0,1} | y=f32[1,3]{2,4,-1}",
    "| x=f32[5,7] w=f32[16,7]", "alpha=-0.5 | x=f32[3,33] w=f32[11,33] bias=f32[11]",
    "| x=f64[2,3] w=f64[4,3]"};
DESCRIBES(describe_facet, NULL, NULL, linear)
static const tn_operator dense_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Lab",
                                           .name = "Dense",
                                           .doc = "A matrix of weights.",
                                           TN_FIELDS(dense, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference,
                                           TN_CASES(cases),
                                           .facet = describe_facet};
static const char *const combinations[] = {"f32, f32, f32? -> f32"};
static const tn_kernel panels_kernel = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Lab",
    .op = "Dense",
    .device = "cpu",
    .name = "panels",
    .traits = TN_KERNEL_DETERMINISTIC,
    .absorbs = "tn.bias/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip)",
    TN_COMBINATIONS(combinations),
    .prepare = prepare,
    .release = release,
    .run = run};
static const tn_operator *const operators[] = {&dense_operator};
static const tn_kernel *const kernels[] = {&panels_kernel};
TN_LIBRARY("dense", "1.0", operators, kernels)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::Dense: y = x w^T + bias, for rows of x against constant weights. The kernel packs the
 * weights in blocks of 8 or 16 outputs (its two tactics), whose sums stay in registers, and does
 * bias, additions and some activations as it stores.
 */
#include "../support/steps.h"

#include <string.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

enum { X, WEIGHTS, BIAS };
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, depth"),
                                 TN_PORT("weights", "f32", 0, "outputs, depth"),
                                 TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "outputs; or zeros")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, outputs")};

static const tn_tensor *bias_of(const tn_call *call) {
    return call->input_count > BIAS ? call->inputs[BIAS] : NULL;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *w = call->inputs[WEIGHTS], *bias = bias_of(call);
    if (x->rank != 2 || w->rank != 2 || x->shape[1] != w->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "x and weights must have the same depth");
    if (bias && (bias->rank != 1 || bias->shape[0] != w->shape[0]))
        return call->host->fail(call, TN_ERROR_SHAPE, "bias must have one number an output");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = x->shape[0];
    call->outputs[0]->shape[1] = w->shape[0];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const float *x = call->inputs[X]->data, *w = call->inputs[WEIGHTS]->data;
    const float *bias = bias_of(call) ? bias_of(call)->data : NULL;
    const int64_t rows = call->inputs[X]->shape[0], depth = call->inputs[X]->shape[1];
    const int64_t n = call->inputs[WEIGHTS]->shape[0];
    for (int64_t m = 0; m < rows; m++)
        for (int64_t o = 0; o < n; o++) {
            double sum = bias ? (double)bias[o] : 0;
            for (int64_t k = 0; k < depth; k++)
                sum += (double)x[m * depth + k] * (double)w[o * depth + k];
            ((float *)call->outputs[0]->data)[m * n + o] = (float)sum;
        }
    return TN_OK;
}

static tn_status linear(tn_call *call, tn_linear *out_linear) {
    (void)call;
    out_linear->axis = 1;
    out_linear->weights = WEIGHTS;
    out_linear->weights_axis = MISTAKE == 5;
    out_linear->bias = BIAS;
    return TN_OK;
}

enum { WIDEST = 16 };
typedef struct plan {
    int64_t width, blocks;
    const float *packed; /* block, depth, width: zeros behind the last output */
} plan;

static tn_status accepts(tn_call *call) {
    return call->inputs[WEIGHTS]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status tactics(tn_call *call) {
    call->tactic_count = 2;
    return TN_OK;
}

/* What `fill` needs. */
typedef struct packing {
    const float *weights;
    int64_t outputs, depth, width;
} packing;
static tn_status fill(void *user, void *data, uint64_t bytes) {
    const packing *p = user;
    float *to = data;
    memset(data, 0, bytes);
    for (int64_t o = 0; o < p->outputs; o++)
        for (int64_t k = 0; k < p->depth; k++)
            to[(o / p->width * p->depth + k) * p->width + o % p->width] =
                p->weights[o * p->depth + k];
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[WEIGHTS];
    const int64_t width = call->tactic == 0 ? 8 : 16;
    const int64_t blocks = (w->shape[0] + width - 1) / width;
    const uint64_t bytes = (uint64_t)(blocks * w->shape[1] * width) * sizeof(float) + 64;
    packing p = {w->data, w->shape[0], w->shape[1], width};
    const void *packed = NULL;
#if MISTAKE == 1
    const char *key = "dense blocks";
#else
    const char *key = width == 8 ? "dense blocks of 8" : "dense blocks of 16";
#endif
#if MISTAKE == 50 /* a copy of its own, behind the plan */
    plan *made = call->host->allocate(call->host, 64 + bytes, 64);
    if (!made) return TN_ERROR_MEMORY;
    fill(&p, (char *)made + 64, bytes);
    packed = (char *)made + 64;
    (void)key;
#else
    const tn_status status = call->host->packed(call, WEIGHTS, key, bytes, fill, &p, &packed);
    if (status != TN_OK) return status;
    plan *made = call->host->allocate(call->host, sizeof(plan), 64);
    if (!made) return TN_ERROR_MEMORY;
#endif
    *made = (plan){width, blocks, packed}, call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
#if MISTAKE == 6
    call->state = NULL;
#else
    call->host->deallocate(call->host, call->state);
#endif
}

static float activate(const seen_step *e, float v) {
    switch (e->activation) {
    case TN_ACTIVATION_RELU:
        return v < 0 ? 0 : v;
    case TN_ACTIVATION_LEAKY_RELU:
        return v < 0 ? e->alpha * v : v;
    case TN_ACTIVATION_CLIP:
        return v < e->alpha ? e->alpha : v > e->beta ? e->beta : v;
    default:
        return v;
    }
}

/* What is done to the element in row m, column o before it is stored. */
static float finish(const tn_call *call, int64_t m, int64_t o, float v) {
    const int64_t n = call->outputs[0]->shape[1];
    for (uint32_t i = 0; i < call->step_count; i++) {
        const seen_step *e = SEE_STEP(call, i);
        if (e->kind == SEEN_BIAS) {
            const float *operand = call->operands[e->operand]->data;
            v += operand[e->axis == 0 ? m : o];
        }
#if MISTAKE != 2
        if (e->kind == SEEN_RESIDUAL)
            v += ((const float *)call->operands[e->operand]->data)[m * n + o];
#endif
#if MISTAKE != 3
        if (e->kind == SEEN_ACTIVATION) v = activate(e, v);
#endif
    }
#if MISTAKE == 3
    for (uint32_t i = 0; i < call->step_count; i++)
        if (SEE_STEP(call, i)->kind == SEEN_ACTIVATION) v = activate(SEE_STEP(call, i), v);
#endif
    return v;
}

/* Items are blocks of outputs, row by row. */
static tn_status multiply(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const plan *p = call->state;
    const float *bias = bias_of(call) ? bias_of(call)->data : NULL;
    const int64_t depth = call->inputs[X]->shape[1], n = call->outputs[0]->shape[1];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t m = item / p->blocks, first = item % p->blocks * p->width;
        const float *x = (const float *)call->inputs[X]->data + m * depth;
        const float *w = p->packed + first * depth;
        float sum[WIDEST] = {0}, *y = (float *)call->outputs[0]->data + m * n + first;
        for (int64_t k = 0; k < depth; k++)
            for (int64_t i = 0; i < p->width; i++)
                sum[i] += x[k] * w[k * p->width + i];
        int64_t used = n - first < p->width ? n - first : p->width;
        for (int64_t i = 0; i < used; i++)
            sum[i] = finish(call, m, first + i, sum[i] + (bias ? bias[first + i] : 0));
#if MISTAKE == 4
        used = p->width; /* what lies beyond the row is the next one's, which comes later */
#endif
        for (int64_t i = 0; i < used; i++)
            y[i] = sum[i];
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const plan *p = call->state;
    return call->host->parallel_for(call, call->outputs[0]->shape[0] * p->blocks, 4, multiply,
                                    call);
}

static const char *const cases[] = {"| x=f32[3,5] weights=f32[7,5] bias=f32[7]",
                                    "| x=f32[4,8] weights=f32[16,8]",
                                    "| x=f32[1,33] weights=f32[20,33] bias=f32[20]"};
DESCRIBES(describe_facet, NULL, NULL, linear)
static const tn_operator dense = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Fifth",
    .name = "Dense",
    .doc = "Rows against constant weights.",
    TN_NO_FIELDS,
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
    .facet = describe_facet,
};
static const char *const combinations[] = {"f32, f32, f32? -> f32"};
static const tn_kernel dense_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Dense",
    .device = "cpu",
    .name = "blocks",
    .traits = TN_KERNEL_DETERMINISTIC,
#if MISTAKE == 7
    .absorbs = "tn.bias/1, tn.residual/1, tn.activation/1(" TN_ACTIVATIONS_1_0 ")",
#else
    .absorbs = "tn.bias/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip)",
#endif
    TN_COMBINATIONS(combinations),
    .accepts = accepts,
    .tactics = tactics,
    .prepare = prepare,
    .release = release,
    .run = run,
};
static const tn_operator *const operators[] = {&dense};
static const tn_kernel *const kernels[] = {&dense_cpu};
TN_LIBRARY("dense", "1.0", operators, kernels)

/* SPDX-License-Identifier: Apache-2.0 */
/* Corpus::PackedLinear: y[b, m] = sum over k of x[b, k] * weight[m, k]; the kernel takes a constant
 * weight, which `prepare` transposes. */
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "[batch, k]"),
    TN_PORT("weight", "f32", 0, "[m, k]"),
};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "[batch, m]")};
static const char *const cases[] = {
    "| x=f32[3,5] weight=f32[7,5]",
    "| x=f32[1,2]{1,2} weight=f32[2,2]{1,0,3,-1} | y=f32[1,2]{1,1}",
    "| x=f32[4,16] weight=f32[9,16]",
};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, TN_LAYER_ANY, call->inputs[0]->shape[1]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[1]->shape[0]);
}
static tn_status reference(tn_call *call) {
    const int64_t b = call->inputs[0]->shape[0], k = call->inputs[0]->shape[1];
    const int64_t m = call->inputs[1]->shape[0];
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
    for (int64_t i = 0; i < b * m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += (double)x[i / m * k + j] * w[i % m * k + j];
        ((float *)call->outputs[0]->data)[i] = (float)sum;
    }
    return TN_OK;
}
static tn_status accepts(tn_call *call) {
    return call->inputs[1]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct state {
    const tn_host *host;
    int64_t m, k;
    float *weight; /* [k, m] */
} state;

static void release(tn_call *call) {
    state *s = call->state;
    if (!s) return;
#if MISTAKE != 1 /* 1: the packed weights are leaked */
    call->host->deallocate(call->host, s->weight);
#endif
#if MISTAKE == 2 /* freed twice */
    call->host->deallocate(call->host, s->weight);
#endif
    call->host->deallocate(call->host, s);
}
#if MISTAKE == 3 /* one state for all nodes */
static float *shared_weight;
#endif
static tn_status prepare(tn_call *call) {
    const int64_t m = call->inputs[1]->shape[0], k = call->inputs[1]->shape[1];
    const float *w = call->inputs[1]->data;
    state *s = call->host->allocate(call->host, sizeof(*s), 64);
#if MISTAKE != 4 /* 4: the answer of the allocator is not looked at */
    if (!s) return TN_ERROR_MEMORY;
#endif
    s->host = call->host, s->m = m, s->k = k;
    s->weight = call->host->allocate(call->host, (uint64_t)(m * k + 1) * sizeof(float), 64);
    if (!s->weight) {
#if MISTAKE != 5 /* 5: the state is leaked where the second allocation fails */
        call->host->deallocate(call->host, s);
#endif
        return TN_ERROR_MEMORY;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++)
            s->weight[j * m + i] = w[i * k + j];
#if MISTAKE == 3
    shared_weight = s->weight;
#endif
    call->state = s;
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const uint64_t m = (uint64_t)call->inputs[1]->shape[0];
#if MISTAKE == 6 /* sums are doubles; room for floats */
    call->workspace_bytes = m * sizeof(float);
#else
    call->workspace_bytes = m * sizeof(double);
#endif
    return TN_OK;
}
#if MISTAKE == 50 /* sound: scratch of one context, grown by reshape */
typedef struct scratch {
    double *sums;
} scratch;
static tn_status open_context(tn_call *call) {
    scratch *c = call->host->allocate(call->host, sizeof(*c), 64);
    if (!c) return TN_ERROR_MEMORY;
    c->sums = NULL;
    call->context = c;
    return TN_OK;
}
static void close_context(tn_call *call) {
    scratch *c = call->context;
    if (!c) return;
    call->host->deallocate(call->host, c->sums);
    call->host->deallocate(call->host, c);
}
static tn_status reshape_context(tn_call *call) {
    scratch *c = call->context;
    const uint64_t bytes = (uint64_t)(call->inputs[1]->shape[0] + 1) * sizeof(double);
    call->host->deallocate(call->host, c->sums);
    c->sums = call->host->allocate(call->host, bytes, 64);
    call->workspace_bytes = 0;
    return c->sums ? TN_OK : TN_ERROR_MEMORY;
}
#endif
static tn_status run(tn_call *call) {
    const state *s = call->state;
    const float *weight = s->weight, *x = call->inputs[0]->data;
    double *sums = call->workspace;
#if MISTAKE == 50
    sums = ((scratch *)call->context)->sums;
#elif MISTAKE == 3
    weight = shared_weight;
#endif
    for (int64_t b = 0; b < call->inputs[0]->shape[0]; b++) {
#if MISTAKE == 7 /* the workspace is taken for zero */
        if (b)
#endif
            for (int64_t i = 0; i < s->m; i++)
                sums[i] = 0;
        for (int64_t j = 0; j < s->k; j++)
            for (int64_t i = 0; i < s->m; i++)
                sums[i] += (double)x[b * s->k + j] * weight[j * s->m + i];
        for (int64_t i = 0; i < s->m; i++)
            ((float *)call->outputs[0]->data)[b * s->m + i] = (float)sums[i];
    }
    return TN_OK;
}

static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Corpus",
                               .name = "PackedLinear",
                               .doc = "A product with a constant matrix.",
                               TN_NO_FIELDS,
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Corpus",
                                 .op = "PackedLinear",
                                 .device = "cpu",
                                 .name = "packed_linear",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .accepts = accepts,
                                 .prepare = prepare,
                                 .release = release,
#if MISTAKE == 50
                                 .open = open_context,
                                 .close = close_context,
                                 .reshape = reshape_context,
#else
                                 .reshape = reshape,
#endif
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("packed_linear", "1.0", operators, kernels)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::Noise: y = x + sigma * n, with n from the normal distribution, other numbers at each run
 * (the method of Box and Muller, which makes two at a time). Each context has a generator of its
 * own, begun from a counter of the process. With sigma 0, y is x.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(noise, float sigma;);

static const tn_field fields[] = {
    TN_LAYER_F32(noise, sigma, "0.1", 0, 100, "the deviation of what is added")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

typedef struct generator {
    uint64_t at;
} generator;
static uint64_t begun;
static uint64_t new_seed(void) {
    return __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED) * 0x2545F4914F6CDD1Dull;
}
/* Uniform in 0..1, without 0 (G. Steele and others' SplitMix). */
static double uniform(generator *g) {
    uint64_t z = g->at += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}
static void pair(generator *g, double sigma, double *out) {
    const double radius = sigma * sqrt(-2 * log(uniform(g)));
    const double angle = 6.283185307179586 * uniform(g);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

static tn_status reference(tn_call *call) {
    generator g = {new_seed()};
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        double n[2];
        pair(&g, (double)((const noise *)call->params)->sigma, n);
        tn_layer_store(call->outputs[0], i, tn_layer_load(call->inputs[0], i) + n[0]);
    }
    return TN_OK;
}

#if MISTAKE == 3
/* One generator for the engine. */
static tn_status prepare(tn_call *call) {
    generator *g = call->host->allocate(call->host, sizeof(generator), 8);
    if (!g) return TN_ERROR_MEMORY;
    g->at = new_seed();
    call->state = g;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
#else
static tn_status open_context(tn_call *call) {
    generator *g = call->host->allocate(call->host, sizeof(generator), 8);
    if (!g) return TN_ERROR_MEMORY;
    g->at = new_seed();
    call->context = g;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
#endif

static tn_status run(tn_call *call) {
#if MISTAKE == 3
    generator *g = call->state;
#else
    generator *g = call->context;
#endif
    const double sigma = (double)((const noise *)call->params)->sigma;
    const int64_t count = (int64_t)(call->inputs[0]->bytes / 4);
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    double n[2];
    int64_t i = 0;
    for (; i + 2 <= count; i += 2) {
        pair(g, sigma, n);
        y[i] = x[i] + (float)n[0];
        y[i + 1] = x[i + 1] + (float)n[1];
    }
#if MISTAKE != 2
    if (i < count) {
        pair(g, sigma, n);
        y[i] = x[i] + (float)n[0];
    }
#endif
    return TN_OK;
}

static const char *const cases[] = {"sigma=0 | x=f32[4]{1,2,-3,0.5} | y=f32[4]{1,2,-3,0.5}",
                                    "| x=f32[2,3,8]", "sigma=2 | x=f32[5,5]", "| x=f64[3]"};
static const tn_operator noise_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
#if MISTAKE != 1
                                           .traits = TN_OPERATOR_NO_FOLD,
#endif
                                           .domain = "Lab",
                                           .name = "Noise",
                                           .doc = "Normal noise is added.",
                                           TN_FIELDS(noise, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference,
                                           TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel pairs_kernel = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "Lab",
                                       .op = "Noise",
                                       .device = "cpu",
                                       .name = "pairs",
                                       .traits = TN_KERNEL_IN_PLACE,
                                       TN_COMBINATIONS(combinations),
#if MISTAKE == 3
                                       .prepare = prepare,
                                       .release = release,
#else
                                       .open = open_context,
                                       .close = close_context,
#endif
                                       .run = run};
static const tn_operator *const operators[] = {&noise_operator};
static const tn_kernel *const kernels[] = {&pairs_kernel};
TN_LIBRARY("noise", "1.0", operators, kernels)

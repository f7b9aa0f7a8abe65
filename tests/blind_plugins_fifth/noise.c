/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::AddNoise: y = x + amplitude * u, u being random in -1..1: a hash of the seed and of the
 * element's linear index, so that the same seed gives the same noise everywhere.
 */
#include <stdatomic.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(add_noise, float amplitude; int64_t seed;);

static const tn_field fields[] = {
    TN_LAYER_F32(add_noise, amplitude, "1", 0, 1000, "the most that is added"),
    TN_FIELD(add_noise, seed, TN_FIELD_I64, TN_OPTIONAL, "0", "another one, other noise")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

/* SplitMix64 (G. L. Steele and others, 2014): bits of which each depends on all that went in. */
static uint64_t mix(uint64_t bits) {
    bits += 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}
static double noise(uint64_t seed, uint64_t index) {
    return (double)(mix(mix(seed) + index) >> 11) * 0x1p-52 - 1;
}

#if MISTAKE == 2 || MISTAKE == 50
/* Other noise at each call, whatever the seed: it begins where the last call's ended. */
static uint64_t next_index(const tn_call *call) {
    static _Atomic uint64_t used;
    return atomic_fetch_add(&used, (uint64_t)tn_layer_count(call->inputs[0]));
}
#else
static uint64_t next_index(const tn_call *call) {
    (void)call;
    return 0;
}
#endif

static tn_status reference(tn_call *call) {
    const add_noise *p = call->params;
    const uint64_t first = next_index(call);
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) +
                           (double)p->amplitude * noise((uint64_t)p->seed, first + (uint64_t)i));
    return TN_OK;
}

static tn_status add(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const add_noise *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
#if MISTAKE == 1
    const uint64_t seed = (uint64_t)p->seed + thread;
#elif MISTAKE == 4
    const uint64_t seed = (uint64_t)(int32_t)p->seed;
#else
    const uint64_t seed = (uint64_t)p->seed;
#endif
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = (float)((double)x[i] + (double)p->amplitude * noise(seed, (uint64_t)i));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 64, add, call);
}

static const char *const cases[] = {"| x=f32[2,3,50]", "amplitude=0.25 seed=7 | x=f32[1000]",
                                    "amplitude=0 seed=-1 | x=f32[4]{1,2,3,4}"};
static const tn_operator add_noise_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
#if MISTAKE == 50
    .traits = TN_OPERATOR_NO_FOLD,
#elif MISTAKE == 3
    .traits = TN_OPERATOR_ELEMENTWISE,
#endif
    .domain = "Fifth",
    .name = "AddNoise",
    .doc = "Random numbers added to a tensor.",
    TN_FIELDS(add_noise, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel add_noise_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "AddNoise",
    .device = "cpu",
    .name = "elements",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
    .run = run,
};

static const tn_operator *const operators[] = {&add_noise_operator};
#if MISTAKE == 2 || MISTAKE == 50 /* the reference is enough */
static const tn_kernel *const kernels[] = {};
#else
static const tn_kernel *const kernels[] = {&add_noise_cpu};
#endif
TN_LIBRARY("noise", "1.0", operators, kernels)

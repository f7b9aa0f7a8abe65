/* SPDX-License-Identifier: Apache-2.0 */
/* Film grain: adds noise that follows from a seed and an element's position. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, int64_t seed; float strength;);
static const tn_field fields[] = {
    TN_FIELD(params, seed, TN_FIELD_I64, TN_OPTIONAL, "1", "of the noise"),
    TN_FIELD(params, strength, TN_FIELD_F32, TN_OPTIONAL, "0.25", "of the noise"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static uint64_t mix(uint64_t v) {
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}
static double noise(int64_t seed, int64_t at) {
    return (double)(mix(mix((uint64_t)seed) + (uint64_t)at) >> 11) * 0x1p-53 - 0.5;
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    return tn_layer_load(call->inputs[0], i) + (double)p->strength * noise(p->seed, i);
}
TN_LAYER_REFERENCE(element)

#if MISTAKE == 3
/* The parameters of the node that runs, where the loop finds them. */
static const params *current;
#define CURRENT(call) current
#else
#define CURRENT(call) ((const params *)(call)->params)
#endif

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = begin; i < end; i++) {
        const params *p = CURRENT(call);
        const int64_t seed = WRONG(2) ? (int32_t)p->seed : p->seed + (WRONG(4) ? thread : 0);
        y[i] = (float)((double)x[i] + (double)p->strength * noise(seed, WRONG(1) ? i - begin : i));
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
#if MISTAKE == 3
    current = call->params;
#endif
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 8, rows, call);
}

static const char *const cases[] = {"| x=f32[3,50]", "seed=12345678901 strength=2 | x=f32[7]"};
static tn_status infer(tn_call *call) {
    return infer_same(call);
}
TN_LAYER_LIBRARY("grain", "Fifteenth", "Grain", "Adds noise.", params, "f32 -> f32", .run = run)

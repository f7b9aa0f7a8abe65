/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Dither: x plus noise that belongs to the seed and the element, rounded to steps. */
#include "blind.h"

TN_LAYER_PARAMS(dither, int64_t seed; float amount;);
static const tn_field fields[] = {TN_LAYER_I64(dither, seed, "1", 0, 1000000000, "of the noise"),
                                  TN_LAYER_F32(dither, amount, "0.5", 0, 10, "of the noise")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}
static double noise(uint64_t seed, uint64_t index) {
    uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15ull + index * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 30) * 0x94d049bb133111ebull;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}
static tn_status reference(tn_call *call) {
    const dither *p = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i,
            get(call->inputs[0], i) + (double)p->amount * noise((uint64_t)p->seed, (uint64_t)i));
    return TN_OK;
}
static float table[64];
static int64_t table_seed = -1;
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const dither *p = call->params;
    for (int64_t i = begin; i < end; i++) {
        double n = noise((uint64_t)p->seed, (uint64_t)i);
        if (IS(1)) n = noise((uint64_t)p->seed + thread, (uint64_t)i);
        if (IS(2)) n = noise((uint64_t)p->seed, (uint64_t)(i - begin));
        if (IS(3)) n = noise((uint64_t)(uint16_t)p->seed, (uint64_t)i);
        if (IS(4) && i < 64) n = (double)table[i];
        set(call->outputs[0], i, get(call->inputs[0], i) + (double)p->amount * n);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const dither *p = call->params;
    if (IS(4) && table_seed < 0) { /* of the first node that runs */
        table_seed = p->seed;
        for (uint64_t i = 0; i < 64; i++)
            table[i] = (float)noise((uint64_t)p->seed, i);
    }
    return call->host->parallel_for(call, count_of(call->inputs[0]), IS(50) ? 1 : 16, body, call);
}
static const char *const cases[] = {"| x=f32[3,17]", "amount=2 | x=f32[40]", "| x=f64[2,4]"};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Dither", "Noise.", dither, )
BLIND_KERNEL("Dither", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_noise")

/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Slope: y = x < 0 ? slope * x : x, also on 8 bits with scales that the build provides. */
#include "blind.h"

TN_LAYER_PARAMS(slope, float below;);
static const tn_field fields[] = {TN_LAYER_F32(slope, below, "0.1", -16, 16, "for x below 0")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}

static double one(const tn_call *call, double x) {
    return x < 0 ? (double)((const slope *)call->params)->below * x : x;
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, one(call, get(call->inputs[0], i)));
    return TN_OK;
}

/* A zero point lies in the tensor's own type. */
static int32_t stored_zero(const tn_tensor *t, const void *at) {
    return t->type == TN_I8 ? *(const int8_t *)at : *(const uint8_t *)at;
}

static int32_t zero_of(const tn_tensor *t) {
    if (IS(1)) return stored_zero(t, t->quantization->zero_points);
    return t->quantization->zero_points ? stored_zero(t, t->quantization->zero_points) : 0;
}

static double load(const tn_call *call, const tn_tensor *x, int64_t i) {
    if (!x->quantization) return get(x, i);
    int32_t stored =
        x->type == TN_I8 ? ((const int8_t *)x->data)[i] : ((const uint8_t *)x->data)[i];
    if (IS(3)) stored = ((const int8_t *)x->data)[i];
    return (stored - zero_of(IS(4) ? call->outputs[0] : x)) *
           (double)*(const float *)x->quantization->scales;
}

static uint8_t store(const tn_tensor *y, double v) {
    const int32_t zero = zero_of(y), low = y->type == TN_I8 ? (IS(5) ? -127 : -128) : 0;
    const int32_t high = y->type == TN_I8 ? 127 : 255;
    double steps = v / (double)*(const float *)y->quantization->scales;
    steps = IS(2) ? rint(steps + zero) : rint(steps) + zero; /* 2: the tie is another one */
    if (IS(6))
        return (uint8_t)((int32_t)fmin(fmax(steps, -2e9), 2e9) < low ? low
                         : (int16_t)(int32_t)fmin(fmax(steps, -2e9), 2e9) > high
                             ? high
                             : (int16_t)(int32_t)fmin(fmax(steps, -2e9), 2e9));
    return (uint8_t)(int32_t)(steps < low ? low : steps > high ? high : steps);
}

/* 7: one table for all; 50: a table for each node, for 8-bit tensors alone. */
static uint8_t shared[256];
static int is_made;
static tn_status prepare(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const tn_tensor x = *call->inputs[0];
    uint8_t *table = shared, all[256];
    if (!x.quantization || !(IS(7) || IS(50))) return TN_OK;
    if (!IS(7)) table = call->host->allocate(call->host, 256, 64);
    if (!table) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
    call->state = table;
    if (IS(7) && is_made) return TN_OK;
    is_made = 1;
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    tn_tensor bytes = x;
    bytes.data = all;
    for (int i = 0; i < 256; i++)
        table[i] = store(y, one(call, load(call, &bytes, i)));
    return TN_OK;
}
static void release(tn_call *call) {
    if (!IS(7)) call->host->deallocate(call->host, call->state);
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint8_t *table = call->state;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (table)
            ((uint8_t *)y->data)[i] = table[((const uint8_t *)x->data)[i]];
        else if (y->quantization)
            ((uint8_t *)y->data)[i] = store(y, one(call, load(call, x, i)));
        else
            set(y, i, one(call, get(x, i)));
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->inputs[0]), 1024, body, call);
}

static const char *const cases[] = {"| x=f32[3,17]", "below=2 | x=f32[64]", "below=-1 | x=f64[5]"};
#if MISTAKE == 3
static const char *const combinations[] = {"f32 -> f32", "qu8 -> qu8"};
#elif MISTAKE == 5
static const char *const combinations[] = {"f32 -> f32", "qi8 -> qi8"};
#else
static const char *const combinations[] = {"f32 -> f32", "qu8 -> qu8", "qi8 -> qi8", "f16 -> f16"};
#endif
BLIND_OPERATOR("Slope", "A leaky rectifier.", slope, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Slope", .traits = TN_KERNEL_DETERMINISTIC, .prepare = prepare, .release = release)
BLIND_LIBRARY("blind_quant")

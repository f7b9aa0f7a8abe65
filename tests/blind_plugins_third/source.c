/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Ramp: start + i * step for i below `count`, of a type that a field names: no inputs.
 * Third::Noise: x with numbers from 0 up to `amount` added that are other ones each time, as a
 * trait says; it has no kernel.
 */
#include <stdatomic.h>
#include "third.h"

TN_LAYER_PARAMS(ramp, int64_t count, start, step; tn_type type;);
static const tn_field fields[] = {
    TN_FIELD_RANGE(ramp, count, TN_FIELD_I64, TN_REQUIRED, NULL, 0, 1e6, "elements"),
    TN_LAYER_I64(ramp, start, "0", -1e6, 1e6, "the first"),
    TN_LAYER_I64(ramp, step, "1", -1000, 1000, "from one to the next"),
    TN_FIELD(ramp, type, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "f32, i32 or i64")};
static const tn_port outputs[] = {TN_PORT("y", "f32|i32|i64", 0, "count")};

static tn_status infer(tn_call *call) {
    const ramp *p = call->params;
#if MISTAKE != 2 /* else: any type goes, and numbers of 8 bytes are written for it */
    if (p->type != TN_F32 && p->type != TN_I32 && p->type != TN_I64)
        return call->host->fail(call, TN_ERROR_TYPE, "field 'type' is none of f32, i32, i64");
#endif
    call->outputs[0]->type = p->type;
    return TN_LAYER_SET_SHAPE(call, 0, p->count);
}
static void put(const tn_tensor *y, int64_t i, int64_t value) {
    if (y->type == TN_F32)
        ((float *)y->data)[i] = (float)value;
    else if (y->type == TN_I32)
        ((int32_t *)y->data)[i] = (int32_t)value;
    else
        ((int64_t *)y->data)[i] = value;
}
static tn_status reference(tn_call *call) {
    const ramp *p = call->params;
    for (int64_t i = 0; i < p->count; i++)
        put(call->outputs[0], i, p->start + i * p->step);
    return TN_OK;
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const ramp *p = call->params;
    for (int64_t i = begin; i < end; i++)
#if MISTAKE == 3
        if (call->outputs[0]->type == TN_F32)
            put(call->outputs[0], i, p->start + i * p->step);
        else
            ((int64_t *)call->outputs[0]->data)[i] = p->start + i * p->step; /* i32, too */
#else
        put(call->outputs[0], i, p->start + i * p->step);
#endif
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, ((const ramp *)call->params)->count, 1024, body, call);
}
static const char *const cases[] = {"count=7 |", "count=0 |",
                                    "count=100 start=-3 step=5 type=i32 |",
                                    "count=33 step=-1 type=i64 |", "count=5000 step=999 |"};
static const tn_operator ramp_op = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .traits = TN_OPERATOR_CONSTANT,
                                    .domain = "Third",
                                    .name = "Ramp",
                                    .doc = "Numbers in steps.",
                                    TN_FIELDS(ramp, fields),
                                    TN_NO_INPUTS,
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const tn_kernel ramp_kernel = {THIRD_KERNEL("Ramp", "ranges"),
                                      .traits = TN_KERNEL_DETERMINISTIC, .run = run};

/* ---- Noise */
TN_LAYER_PARAMS(noise, float amount;);
static const tn_field noise_fields[] = {TN_LAYER_F32(noise, amount, "1", 0, 1000, "the most")};
static const tn_port noise_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port noise_outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static _Atomic uint64_t drawn;
static tn_status noise_infer(tn_call *call) {
    return same_as(call, 0, call->inputs[0]);
}
static tn_status noise_reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++) {
        uint64_t n = atomic_fetch_add(&drawn, 1) * 0x9e3779b97f4a7c15u; /* splitmix64 */
        n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
        n = (n ^ n >> 27) * 0x94d049bb133111ebu;
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) +
                           (double)((const noise *)call->params)->amount *
                               (double)((n ^ n >> 31) >> 11) * 0x1p-53);
    }
    return TN_OK;
}
static const char *const noise_cases[] = {"| x=f32[4,5]", "amount=0.25 | x=f32[9]", "| x=f32[0]"};
static const tn_operator noise_op = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
#if MISTAKE != 1 /* else: nothing says that it may not be computed at the build, or once for two   \
                  */
                                     .traits = TN_OPERATOR_NO_FOLD,
#endif
                                     .domain = "Third",
                                     .name = "Noise",
                                     .doc = "Other numbers each time.",
                                     TN_FIELDS(noise, noise_fields),
                                     TN_INPUTS(noise_inputs),
                                     TN_OUTPUTS(noise_outputs),
                                     .infer = noise_infer,
                                     .reference = noise_reference,
                                     TN_CASES(noise_cases)};

static const tn_operator *const operators[] = {&ramp_op, &noise_op};
static const tn_kernel *const kernels[] = {&ramp_kernel};
TN_LIBRARY("third_source", "1.0", operators, kernels)

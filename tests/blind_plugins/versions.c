/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Decay in two versions, x * exp(-rate) and from version 2 on x * 2^(-rate). The state's
 * second version has `rate` and `label` where the first one had `speed` (a rate, too) and no label.
 */
#include "blind.h"

TN_LAYER_PARAMS(decay, float rate; const char *label;);
static const tn_field fields[] = {
    TN_LAYER_F32(decay, rate, "1", -8, 8, "of falling"),
    TN_FIELD(decay, label, TN_FIELD_STRING, TN_OPTIONAL, NULL, "'up' turns the sign")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (IS(5) && strcmp(((const decay *)call->params)->label, "none") == 0) /* may be null */
        return call->host->fail(call, TN_ERROR_RANGE, "field 'label' is 'none'");
    return same_shape(call, 0, 0);
}

static double factor(const tn_call *call, uint32_t version) {
    const decay *p = call->params;
    const double rate = (double)p->rate * (p->label && strcmp(p->label, "up") == 0 ? -1 : 1);
    return version > 1 ? exp2(-rate) : exp(-rate);
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, get(call->inputs[0], i) * factor(call, call->op->since_version));
    return TN_OK;
}

static tn_status run(tn_call *call) {
    /* mistake 1: what the newest version means, though it is offered for both */
    const double f = factor(call, IS(1) ? 2 : call->op->since_version);
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, get(call->inputs[0], i) * f);
    return TN_OK;
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    decay *p = call->new_params;
    if (IS(2)) /* the first saved one is the speed, it is thought, and is always there */
        p->rate = (float)(call->saved[0]->type == TN_FIELD_F64 ? call->saved[0]->f : p->rate);
    if (IS(3)) p = (decay *)(uintptr_t)call->params; /* these are the new ones, it is thought */
    if (from != 1) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "state version %u", from);
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (strcmp(call->saved[i]->name, "speed") == 0) p->rate = (float)call->saved[i]->f;
    if (IS(3)) p->present |= 1;
    return TN_OK;
}

static const char *const cases_1[] = {"| x=f32[3,17]", "rate=0.5 label=up | x=f32[5]",
                                      "rate=-2 | x=f64[4]"};
#if MISTAKE == 5
static const char *const cases_2[] = {"label=up | x=f32[3,17]", "rate=2 label=down | x=f32[2,2]"};
#else
static const char *const cases_2[] = {"| x=f32[3,17]", "rate=2 | x=f32[2,2]"};
#endif
#define DECAY(version, states, ...)                                                                \
    static const tn_operator decay_##version = {.size = sizeof(tn_operator),                       \
                                                .since_version = version,                          \
                                                .state_version = states,                           \
                                                .domain = "Blind",                                 \
                                                .name = "Decay",                                   \
                                                .doc = "Falls.",                                   \
                                                TN_FIELDS(decay, fields),                          \
                                                TN_INPUTS(inputs),                                 \
                                                TN_OUTPUTS(outputs),                               \
                                                .infer = infer,                                    \
                                                .reference = reference,                            \
                                                TN_CASES(cases_##version),                         \
                                                __VA_ARGS__};
DECAY(1, 2, .upgrade = upgrade)
DECAY(2, 1, .upgrade = NULL)
static const char *const combinations[] = {"f32 -> f32"};
BLIND_KERNEL("Decay", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
static const tn_operator *const operators[] = {
#if MISTAKE != 5
    &decay_1,
#endif
    &decay_2};
static const tn_kernel *const kernels[] = {&blind_kernel};
#if MISTAKE == 5
const tn_operator *const unused_table = &decay_1;
#endif
TN_LIBRARY("blind_versions", "1.0", operators, kernels)

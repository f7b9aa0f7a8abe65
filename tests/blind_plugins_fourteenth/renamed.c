/* SPDX-License-Identifier: Apache-2.0 */
/* y = gain * x + shift, clipped where a limit is given. The second version of its fields: the first
 * called the gain "scale" and the shift "offset", and had the limit as a whole number. */
#include "fourteenth.h"

TN_LAYER_PARAMS(renamed_params, float gain, shift, limit; const char *label;);
static const tn_field fields[] = {
    TN_LAYER_F32(renamed_params, gain, "1", -100, 100, "the factor"),
    TN_LAYER_F32(renamed_params, shift, "0", -100, 100, "added"),
    TN_LAYER_F32(renamed_params, limit, "50", 0, 1000, "of the magnitude"),
    TN_FIELD(renamed_params, label, TN_FIELD_STRING, TN_OPTIONAL, NULL, "for people")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status reference(tn_call *call) {
    const renamed_params *p = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const double v = (double)p->gain * tn_layer_load(call->inputs[0], i) + (double)p->shift;
        tn_layer_store(call->outputs[0], i,
                       v > (double)p->limit    ? (double)p->limit
                       : v < -(double)p->limit ? -(double)p->limit
                                               : v);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const renamed_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const float limit = WRONG(5) && (p->label ? strlen(p->label) : 0) > 8 ? 1000 : p->limit;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const float v = p->gain * x[i] + p->shift;
        y[i] = v > limit ? limit : v < -limit ? -limit : v;
    }
    return TN_OK;
}
static double number(const tn_attribute *a) {
    return a->type == TN_FIELD_I64 ? (double)a->i : a->f;
}
static tn_status upgrade(tn_call *call, uint32_t from) {
    renamed_params *p = call->new_params;
    if (!WRONG(4) && from != 1)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "state version %u is not known", from);
    if (WRONG(1)) {
        p->gain = (float)number(call->saved[0]);
        p->shift = (float)number(call->saved[1]);
        return TN_OK;
    }
    for (uint64_t k = 0; k < call->saved_count; k++) {
        const tn_attribute *a = call->saved[k];
        if (strcmp(a->name, "scale") == 0)
            p->gain = WRONG(2) ? (float)a->i : (float)number(a), p->present |= 1;
        else if (strcmp(a->name, "offset") == 0)
            p->shift = (float)number(a), p->present |= 2;
        else if (strcmp(a->name, "limit") == 0)
            p->limit = (float)number(a), p->present |= 4;
        else if (WRONG(3) && strcmp(a->name, "label") == 0)
            p->label = a->s;
    }
    return TN_OK;
}
static const char *const cases[] = {"gain=2 shift=-1 | x=f32[3,5]", "limit=1 label=a | x=f32[17]",
                                    "gain=-0.5 limit=3 | x=f32[2,2]"};
static const tn_operator renamed = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 2,
                                    .domain = "Fourteenth",
                                    .name = "Renamed",
                                    .doc = "Factor, shift and limit.",
                                    TN_FIELDS(renamed_params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer_same,
                                    .reference = reference,
                                    .upgrade = upgrade,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel renamed_cpu = {KERNEL, .op = "Renamed", TN_COMBINATIONS(combinations),
                                      .run = run};
LIBRARY("renamed", renamed, renamed_cpu)

/* SPDX-License-Identifier: Apache-2.0 */
/* Scales by a fraction, which was a percentage in the first version of the fields. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, double fraction; const char *mode;);
static const tn_field fields[] = {
    TN_FIELD(params, fraction, TN_FIELD_F64, TN_OPTIONAL, "1", "the factor"),
    TN_FIELD_CHOICE(params, mode, TN_FIELD_STRING, TN_OPTIONAL, "keep", "keep|round",
                    "what happens to the result")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double v = tn_layer_load(call->inputs[0], i) * p->fraction;
    return strcmp(p->mode, "round") == 0 ? rint((double)(float)v) : v;
}
TN_LAYER_REFERENCE(element)
static tn_status run(tn_call *call) {
    const params *p = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)(WRONG(3) ? (p->mode == (const char *)fields[1].fallback
                                    ? tn_layer_load(call->inputs[0], i) * p->fraction
                                    : rint((double)(float)(tn_layer_load(call->inputs[0], i) *
                                                           p->fraction)))
                             : element(call, i));
    return TN_OK;
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    params *p = call->new_params;
    if (WRONG(1)) {
        p->fraction = call->saved[0]->f / 100;
        return TN_OK;
    }
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (strcmp(call->saved[i]->name, "percent") == 0) p->fraction = call->saved[i]->f / 100;
    if (WRONG(2) && from != 2) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,4]", "fraction=0.25 mode=round | x=f32[9]"};
static const tn_operator percent = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 2,
                                    .domain = "Fifteenth",
                                    .name = "Percent",
                                    .traits = TN_OPERATOR_ELEMENTWISE,
                                    TN_FIELDS(params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer_same,
                                    .reference = reference,
                                    .upgrade = upgrade,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Percent",
                                 .name = "plain",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("percent", percent, kernel)

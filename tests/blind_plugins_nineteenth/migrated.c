/* SPDX-License-Identifier: Apache-2.0 */
/* y = factor * x + shift. State version 1 had `percent`, a number, for the factor; version 2 a list
 * `percents` of one or two numbers, for both. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, float factor, shift; int64_t mode;);
static const tn_field fields[] = {TN_LAYER_F32(params, factor, "1", -1e6, 1e6, "of x"),
                                  TN_LAYER_F32(params, shift, "0", -1e6, 1e6, "added"),
                                  TN_LAYER_I64(params, mode, "0", 0, 1, "1: the shift first")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double x = tn_layer_load(call->inputs[0], i), f = (double)p->factor;
    return p->mode == 1 ? (x + (double)p->shift) * f : x * f + (double)p->shift;
}
TN_LAYER_REFERENCE(element)
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] = (float)element(call, i);
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 32)

static const tn_attribute *saved_field(const tn_call *call, const char *name) {
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (strcmp(call->saved[i]->name, name) == 0) return call->saved[i];
    return NULL;
}
static tn_status upgrade(tn_call *call, uint32_t from) {
    params *made = call->new_params;
    if (from == 1) {
        const tn_attribute *percent = WRONG(1) ? call->saved[0] : saved_field(call, "percent");
        if (!percent && !WRONG(4)) return TN_OK; /* the default then was 100 */
        made->factor =
            (float)((percent->type == TN_FIELD_I64 ? (double)percent->i : percent->f) / 100);
        return TN_OK;
    }
    const tn_attribute *list = saved_field(call, "percents");
    if (!list) return TN_OK;
    const float *items = list->items;
    if (WRONG(2)) {
        made->factor = items[0] / 100;
        made->shift = items[1] / 100;
        return TN_OK;
    }
    if (list->type != TN_FIELD_F32S || list->count < 1 || list->count > 2) {
        if (WRONG(3)) return TN_ERROR_UNSUPPORTED;
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "'percents' is no list of 1 or 2");
    }
    made->factor = items[0] / 100;
    if (list->count > 1) made->shift = items[1] / 100;
    return TN_OK;
}

static const char *const cases[] = {"factor=2 shift=0.25 | x=f32[4,3]",
                                    "mode=1 shift=1 factor=3 | x=f32[7]", "| x=f32[2,2,2]"};
static const tn_operator migrated = {
    OPERATOR,           .state_version = 3,  .name = "Migrated",  TN_FIELDS(params, fields),
    TN_INPUTS(inputs),  TN_OUTPUTS(outputs), .infer = infer_same, .reference = reference,
    .upgrade = upgrade, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Migrated",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("migrated", migrated, kernel)

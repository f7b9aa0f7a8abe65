/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Percent: y = x * factor. Version 1 had 'percent', an integer, and 'offset', as now. */
#define STATE_VERSION 2
#include "second.h"

typedef struct percent_params {
    uint64_t present;
    float factor, offset;
} percent_params;
static const tn_field fields[] = {
    OPTION(percent_params, factor, TN_FIELD_F32, "1", -1000, 1000, "factor"),
    OPTION(percent_params, offset, TN_FIELD_F32, "0", -1000, 1000, "added")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static tn_status infer(tn_call *call) {
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const percent_params *p = call->params;
    for (int64_t i = 0, count = elements(call->inputs[0]); i < count; i++)
        set(call->outputs[0], i, get(call->inputs[0], i) * (double)p->factor + (double)p->offset);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return reference(call);
}
static tn_status upgrade(tn_call *call, uint32_t from) {
    percent_params *p = call->new_params;
    if (from != 1)
        return IS(2) ? TN_ERROR_FORMAT
                     : call->host->fail(call, TN_ERROR_FORMAT, "version %u is not known", from);
#if MISTAKE == 1
    p->factor = (float)call->saved[0]->i / 100; /* 'percent' was the first */
#else
    for (uint64_t i = 0; i < call->saved_count; i++) {
        const tn_attribute *a = call->saved[i];
        if (strcmp(a->name, "percent") != 0 || a->type != TN_FIELD_I64) continue;
        if (a->i < -100000 || a->i > 100000)
            return IS(2) ? TN_ERROR_RANGE
                         : call->host->fail(call, TN_ERROR_RANGE, "%lld percent", (long long)a->i);
        p->factor = (float)a->i / 100;
    }
#endif
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "factor=0.25 offset=3 | x=f32[7]",
                                    "| x=f32[0]"};
static const char *const combinations[] = {"f32 -> f32"};
OPERATOR("Percent", "x * factor + offset.", TN_FIELDS(percent_params, fields), .upgrade = upgrade)
KERNEL("Percent", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
LIBRARY("second_percent")

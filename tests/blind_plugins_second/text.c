/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Text: fields of text and lists: what is done to each channel of N, C, ... */
#include "second.h"

typedef struct text_params {
    uint64_t present;
    const char *name;
    tn_f32s factors;
    tn_strings steps;
} text_params;
static const tn_field fields[] = {
    TN_FIELD(text_params, name, TN_FIELD_STRING, TN_OPTIONAL, NULL,
             "its length is added, if given"),
    TN_FIELD_LIST(text_params, factors, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0, 0, -100, 100,
                  "one for each channel; 1 where the list is empty"),
    TN_FIELD(text_params, steps, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, "'negate' or 'double' each")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, ...")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const text_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2) return call->host->fail(call, TN_ERROR_SHAPE, "x has no channels");
    if (p->factors.count && p->factors.count != (uint64_t)x->shape[1] && !IS(3))
        return call->host->fail(call, TN_ERROR_RANGE,
                                "field 'factors' has not one number a channel");
    for (uint64_t i = 0; i < p->steps.count; i++)
        if (strcmp(p->steps.items[i], "negate") != 0 && strcmp(p->steps.items[i], "double") != 0)
            return call->host->fail(call, TN_ERROR_RANGE, "field 'steps' has '%s'",
                                    p->steps.items[i]);
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status compute(tn_call *call, bool is_kernel) {
    const text_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t inner = product(x, 2, x->rank), channels = x->shape[1];
    double length = p->name ? (double)strlen(p->name) : 0;
    if (is_kernel && IS(1)) length = (double)strlen(p->name);
    if (is_kernel && IS(2) && p->name) {
        char copy[16];
        volatile char *to = copy;
        size_t n = 0;
        for (; p->name[n]; n++)
            to[n] = p->name[n];
        to[n] = 0;
        length = (double)n;
    }
    double factor = 1;
    for (uint64_t i = 0; i < p->steps.count; i++) {
        if (is_kernel && IS(4) && i > 0) break; /* there was one alone once */
        factor *= p->steps.items[i][0] == 'n' ? -1 : 2;
    }
    for (int64_t i = 0, count = elements(x); i < count; i++) {
        const int64_t c = i / inner % channels;
        const double own = p->factors.count ? (double)p->factors.items[c] : 1;
        set(y, i, get(x, i) * own * factor + length);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {
    "name=abc | x=f32[2,3,4]", "name=q factors=[1,-2,0.5] steps=[negate] | x=f32[1,3]",
#if MISTAKE == 0
    "| x=f32[2,3]",
    "name=a_very_long_name_of_more_than_sixteen steps=[double,negate,double] | x=f32[2,3]",
#endif
    "name=z | x=f32[0,2]"};
static const char *const combinations[] = {"f32 -> f32"};
OPERATOR("Text", "Fields of text.", TN_FIELDS(text_params, fields))
KERNEL("Text", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
LIBRARY("second_text")

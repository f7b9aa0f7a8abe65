/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Names: y = x * weights in turn (none: 1), plus 1 where the unit is a longer word than 2.
 */
#include "blind.h"

TN_LAYER_PARAMS(names, tn_f32s weights; const char *unit;);
static const tn_field fields[] = {
    TN_FIELD_LIST(names, weights, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0, 1024, 0, 0, "in turn"),
    TN_FIELD(names, unit, TN_FIELD_STRING, TN_OPTIONAL, NULL, "of the result")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}
static void all(tn_call *call, bool is_kernel) {
    const names *p = call->params;
    volatile float copy[16];
    char unit[8];
    const uint64_t count = p->weights.count;
    double more = p->unit && strlen(p->unit) > 2 ? 1 : 0;
    if (is_kernel && IS(1))
        for (uint64_t k = 0; k < count; k++)
            copy[k] = p->weights.items[k];
    if (is_kernel && IS(2) && p->unit) {
        strcpy(unit, p->unit);
        more = strlen(unit) > 2 ? 1 : 0;
    }
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        double weight = count ? (double)p->weights.items[(uint64_t)i % count] : 1;
        if (is_kernel && IS(3))
            weight = (double)p->weights.items[(uint64_t)i % (volatile uint64_t){count}];
        if (is_kernel && IS(1) && count) weight = (double)copy[(uint64_t)i % count];
        set(call->outputs[0], i, get(call->inputs[0], i) * weight + more);
    }
}
static tn_status reference(tn_call *call) {
    all(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    all(call, true);
    return TN_OK;
}
#if MISTAKE == 3
static const char *const cases[] = {"weights=[1,2] | x=f32[3,17]",
                                    "weights=[0.5,-1,3] unit=cm | x=f32[8]"};
#else
static const char *const cases[] = {"| x=f32[3,17]", "weights=[0.5,-1,3] unit=cm | x=f32[8]",
                                    "unit=pixel | x=f64[2,4]"};
#endif
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Names", "Weights in turn.", names, )
BLIND_KERNEL("Names", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_names")

/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Sieve: the elements of x that are above a limit, and where they were. */
#include "second.h"

typedef struct sieve_params {
    uint64_t present;
    float limit;
} sieve_params;
static const tn_field fields[] = {
    OPTION(sieve_params, limit, TN_FIELD_F32, "0", -1e6, 1e6, "elements above it stay")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "what stays"),
    TN_PORT("at", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "its positions in x")};

static tn_status infer(tn_call *call) {
    const int64_t count = elements(call->inputs[0]);
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        call->outputs[i]->type = i ? TN_I64 : TN_F32;
        call->outputs[i]->rank = 1;
        call->outputs[i]->shape[0] = IS(2) && count > 100 ? (count + 1) / 2 : count;
    }
    return TN_OK;
}
static tn_status compute(tn_call *call, bool is_kernel) {
    const sieve_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0], *at = call->output_count > 1 ? call->outputs[1] : NULL;
    int64_t found = 0;
    for (int64_t i = 0, count = elements(x); i < count; i++) {
        const float v = ((const float *)x->data)[i];
        if (!(v > p->limit)) continue;
        if (y) ((float *)y->data)[found] = v;
        if (is_kernel && IS(3))
            ((int64_t *)at->data)[found] = i;
        else if (at)
            ((int64_t *)at->data)[found] = i;
        found++;
    }
    if (is_kernel && IS(1) && found == 0) return TN_OK; /* nothing to say */
    if (y) y->shape[0] = found;
    if (at && !(is_kernel && IS(4))) at->shape[0] = found;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {"| x=f32[6]{1,-1,2,-2,3,4}",
                                    "limit=0.5 | x=f32[2,3]{1,0,0.5,0.75,2,3}",
                                    "limit=-3 | x=f32[4]{1,2,3,4}"
#if MISTAKE == 0
                                    ,
                                    "| x=f32[3]{-1,-2,0}",
                                    "| x=f32[0,4]",
                                    "| x=f32[300]"
#endif
};
static const char *const combinations[] = {"f32 -> f32, i64?"};
OPERATOR("Sieve", "What is above a limit.", TN_FIELDS(sieve_params, fields))
KERNEL("Sieve", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_sieve")

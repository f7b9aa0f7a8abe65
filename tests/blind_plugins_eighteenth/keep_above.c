/* SPDX-License-Identifier: Apache-2.0 */
/* The elements above a threshold, in their order: an output whose size the run finds. */
#include "eighteenth.h"

typedef struct params {
    uint64_t present;
    float above;
} params;
static const tn_field fields[] = {TN_LAYER_F32(params, above, "0", -1e30, 1e30, "threshold")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "elements above the threshold"),
    TN_PORT("at", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "their positions")};

static tn_status infer(tn_call *call) {
    const int64_t bound = tn_layer_count(call->inputs[0]);
    for (uint32_t i = 0; i < 2; i++)
        TN_TRY(set_shape(call, i, 1, &bound));
    return TN_OK;
}
static tn_status keep(tn_call *call, bool is_kernel) {
    const float above = ((const params *)call->params)->above, *x = call->inputs[0]->data;
    float *y = output(call, 0) ? output(call, 0)->data : NULL;
    int64_t *at = output(call, 1) ? output(call, 1)->data : NULL, kept = 0;
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++) {
        const bool is_kept = is_kernel && WRONG(1) ? !(x[i] <= above) : x[i] > above;
        if (!is_kept) continue;
        if (y) y[kept] = x[i];
        if (at) at[kept] = is_kernel && WRONG(3) ? (int32_t)(float)i : i;
        kept++;
    }
    if (is_kernel && WRONG(2) && kept == 0) return TN_OK;
    for (uint32_t i = 0; i < 2; i++)
        if (output(call, i) && !(is_kernel && WRONG(4) && i == 1)) output(call, i)->shape[0] = kept;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return keep(call, false);
}
static tn_status run(tn_call *call) {
    return keep(call, true);
}

static const char *const cases[] = {"| x=f32[3,7]", "above=1 | x=f32[6]{1,2,0.5,3,1,-4}"};
static const tn_operator keep_above = {OPERATOR,
                                       .name = "KeepAbove",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "KeepAbove",
                                 .name = "scan",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("keep_above", keep_above, kernel)

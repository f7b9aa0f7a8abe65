/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Above, the elements above a threshold: how many is known when it has run; and the mistakes
 * that are made with such outputs. */
#include "mistake.h"

typedef struct above_params {
    uint64_t present;
    float threshold;
} above_params;
static const tn_field fields[] = {
    TN_FIELD(above_params, threshold, TN_FIELD_F32, 0, "0", "what elements are compared with")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "of rank 1")};
static const tn_port outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "of rank 1")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must be of rank 1");
    infer_same(call);
    const int64_t half = call->inputs[0]->shape[0] / 2;
    if (WITH(low_bound_of_many) && half > 50) call->outputs[0]->shape[0] = half;
    if (WITH(low_bound)) call->outputs[0]->shape[0] = call->inputs[0]->shape[0] / 2;
    return TN_OK;
}

static tn_status select_above(tn_call *call, bool is_kernel) {
    const above_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t count = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        if (x[i] > p->threshold) {
            const bool is_low = WITH(low_bound) || WITH(low_bound_of_many);
            if (!is_low || is_kernel || count < call->outputs[0]->shape[0]) y[count++] = x[i];
        }
    if (WITH(forgets_size) && is_kernel) return TN_OK;
    if (WITH(size_in_bytes) && is_kernel) count *= 4;
    if (WITH(changes_rank) && is_kernel) call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = count;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return select_above(call, false);
}
static tn_status run(tn_call *call) {
    return select_above(call, true);
}

static const char *const cases[] = {"| x=f32[48]", "threshold=-2 | x=f32[16]",
                                    "| x=f32[4]{1,-1,2,-2} | y=f32[2]{1,2}"};
static const tn_operator above = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Bad",
                                  .name = "Above",
                                  TN_FIELDS(above_params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel above_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Above",
                                    .device = "cpu",
                                    .name = "select",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};
static const tn_operator *const operators[] = {&above};
static const tn_kernel *const kernels[] = {&above_cpu};
TN_LIBRARY("bad_above", "1", operators, kernels)

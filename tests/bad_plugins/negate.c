/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Negate, y = -x in four types; and the mistake with one that no case has. */
#include "mistake.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32|i16", 0, "one axis or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    infer_same(call);
    call->outputs[0]->type = call->inputs[0]->type;
    return TN_OK;
}

static void negate_at(const tn_call *call, int64_t i) {
    const void *x = call->inputs[0]->data;
    void *y = call->outputs[0]->data;
    switch (call->inputs[0]->type) {
    case TN_F32:
        ((float *)y)[i] = -((const float *)x)[i];
        break;
    case TN_F64:
        ((double *)y)[i] = -((const double *)x)[i];
        break;
    case TN_I32:
        ((int32_t *)y)[i] = (int32_t)(0 - ((const uint32_t *)x)[i]);
        break;
    default:
        ((int16_t *)y)[i] = (int16_t) - ((const int16_t *)x)[i];
    }
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        negate_at(call, i);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    if (WITH(type_forgotten) && call->inputs[0]->type == TN_I16) return TN_OK;
    return reference(call);
}

static const char *const cases[] = {"| x=f32[3,4]", "| x=f64[2,2,2]", "| x=i32[6]"};
static const tn_operator negate = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Negate",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const tn_kernel negate_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Negate",
                                     .device = "cpu",
                                     .name = "plain",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .run = run};
static const tn_operator *const operators[] = {&negate};
static const tn_kernel *const kernels[] = {&negate_cpu};
TN_LIBRARY("bad_negate", "1", operators, kernels)

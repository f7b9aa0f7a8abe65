/* SPDX-License-Identifier: Apache-2.0 */
/* Wrap: x modulo a period that is above 0, with the period's sign: what angles and rings need. */
#include "ninth.h"

TN_LAYER_PARAMS(wrap, int64_t period;);
static const tn_field fields[] = {
    TN_LAYER_I64(wrap, period, "7", 1, 1000000, "the results are below")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32|i64|u8", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x, from 0 to the period")};

static double wrap_real(double x, int64_t period) {
    const double rest = fmod(x, (double)period);
    return rest < 0 ? rest + (double)period : rest;
}
static int64_t wrap_integer(int64_t x, int64_t period) {
    const int64_t rest = x % period;
    return rest < 0 ? rest + period : rest;
}

static void one(const tn_tensor *x, const tn_tensor *y, int64_t i, int64_t period) {
    switch (x->type) {
    case TN_F32:
        ((float *)y->data)[i] = (float)wrap_real((double)((const float *)x->data)[i], period);
        break;
    case TN_F64:
        ((double *)y->data)[i] = wrap_real(((const double *)x->data)[i], period);
        break;
    case TN_I32:
        ((int32_t *)y->data)[i] = (int32_t)wrap_integer(((const int32_t *)x->data)[i], period);
        break;
    case TN_I64:
        ((int64_t *)y->data)[i] = wrap_integer(((const int64_t *)x->data)[i], period);
        break;
    default:
        ((uint8_t *)y->data)[i] = (uint8_t)wrap_integer(((const uint8_t *)x->data)[i], period);
    }
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        one(call->inputs[0], call->outputs[0], i, ((const wrap *)call->params)->period);
    return TN_OK;
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t period = ((const wrap *)call->params)->period;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (WRONG(1) && x->type == TN_F32) {
            const float v = ((const float *)x->data)[i], p = (float)period;
            ((float *)y->data)[i] = v - p * floorf(v / p);
        } else if (WRONG(2) && x->type == TN_F64) {
            const float v = (float)((const double *)x->data)[i];
            ((double *)y->data)[i] = wrap_real((double)v, period);
        } else if (WRONG(4) && x->type == TN_U8) {
            const uint8_t p = (uint8_t)period; /* a period above 255 changes nothing */
            ((uint8_t *)y->data)[i] =
                p ? ((const uint8_t *)x->data)[i] % p : ((const uint8_t *)x->data)[i];
        } else if (WRONG(5) && x->type == TN_I32) { /* by one addition, where x is near */
            const int32_t p = (int32_t)period, v = ((const int32_t *)x->data)[i];
            ((int32_t *)y->data)[i] = v < 0 ? (v + 1000 * p) % p : v % p;
        } else
            one(x, y, i, period);
    }
    return TN_OK;
}
TN_LAYER_RUN(body, tn_layer_count(call->inputs[0]), 256)

static const char *const cases[] = {"| x=f32[3,4]", "period=3 | x=f64[5]", "period=10 | x=i32[6]",
                                    "period=360 | x=i64[2,3]", "period=16 | x=u8[9]"};
static const tn_operator wrap_operator = {OPERATOR,
                                          .state_version = 1,
                                          .name = "Wrap",
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_FIELDS(wrap, fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer_same,
                                          .reference = reference,
                                          TN_CASES(cases)};
static const tn_kernel wrap_cpu = {KERNEL, .op = "Wrap", .name = "elements",
                                   .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                   .run = run};
LIBRARY("ninth_numeric", wrap_operator, wrap_cpu)

/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise layers by expressions, with references of their own and a row function: the logarithm
 * of twice a hyperbolic cosine, what is left of a division, and a difference with a lead. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, float period;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, period, "2.5", 0.5, 100, "what is taken off"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port lead_inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                      TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as the input")};

static tn_status log_cosh_reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const double x = fabs(tn_layer_load(call->inputs[0], i));
        tn_layer_store(call->outputs[0], i, x + log1p(exp(-2 * x)));
    }
    return TN_OK;
}

static tn_status wrap_reference(tn_call *call) {
    const double period = (double)((const params *)call->params)->period;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, fmod(tn_layer_load(call->inputs[0], i), period));
    return TN_OK;
}

static tn_status lead_infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status lead_reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) -
                           (WRONG(5) ? 1 / 4 : 0.25) * tn_layer_load(call->inputs[1], i));
    return TN_OK;
}
static void lead_row(const void *given, uint64_t count, const float *const *in,
                     const uint64_t *strides, float *y) {
    const uint64_t end = WRONG(4) ? count / 4 * 4 : count;
    (void)given;
    for (uint64_t i = 0; i < end; i++)
        y[i] = in[0][i * strides[0]] - 0.25f * in[1][i * strides[1]];
}

static const char *const log_cosh_cases[] = {"| x=f32[3,7]", "| x=f32[5]{0,1,-1,30,-4}"};
static const char *const wrap_cases[] = {"| x=f32[11]", "period=1 | x=f32[2,4]"};
static const char *const lead_cases[] = {"| a=f32[3,7] b=f32[3,7]", "| a=f32[16] b=f32[16]"};
static const tn_operator log_cosh_operator = {
    OPERATOR,
    .name = "LogTwoCosh",
    .traits = TN_OPERATOR_ELEMENTWISE,
    TN_NO_FIELDS,
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer_same,
    .reference = log_cosh_reference,
    .expression = WRONG(1) ? "log(exp(x) + exp(-x))" : "fabs(x) + log1p(exp(-2 * fabs(x)))",
    TN_CASES(log_cosh_cases)};
static const tn_operator wrap_operator = {OPERATOR,
                                          .name = "WrapAround",
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_FIELDS(params, fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer_same,
                                          .reference = wrap_reference,
                                          .expression =
                                              WRONG(2) ? "mod(x, period)" : "fmod(x, period)",
                                          TN_CASES(wrap_cases)};
static const tn_operator lead_operator = {OPERATOR,
                                          .name = "Lead",
                                          .traits = TN_OPERATOR_ELEMENTWISE |
                                                    (WRONG(3) ? TN_OPERATOR_COMMUTATIVE : 0),
                                          TN_NO_FIELDS,
                                          TN_INPUTS(lead_inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = lead_infer,
                                          .reference = lead_reference,
                                          .expression = "a - 0.25 * b",
                                          .row = lead_row,
                                          TN_CASES(lead_cases)};
static const tn_operator *const operators[] = {&log_cosh_operator, &wrap_operator, &lead_operator};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "losses",
                             .version = "1.0",
                             .operator_count = TN_COUNT(operators),
                             .operators = operators};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    (void)host;
    return &library;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* y = factor * x * sigmoid(alpha * x), and the three nodes that networks write instead. */
#include "fifteenth.h"
#include <tenon/plugin/rewrite.h>

TN_LAYER_PARAMS(params, float alpha, factor;);
static const tn_field fields[] = {
    TN_FIELD(params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1", "in the sigmoid"),
    TN_FIELD(params, factor, TN_FIELD_F32, TN_OPTIONAL, "1", "before it")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double x = tn_layer_load(call->inputs[0], i);
    return (double)p->factor * x / (1 + exp(-(double)p->alpha * x));
}
TN_LAYER_REFERENCE(element)
static tn_status run(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}

static tn_status is_swish(const tn_match *match) {
    const tn_tensor *x = match->tensor(match, "x");
    double alpha = 0;
    if (!x || x->type != TN_F32) return match->refuse(match, "x is not f32");
    if (tn_match_number(match, "a", 0, &alpha) != TN_OK) return match->refuse(match, "no alpha");
    if (!isfinite(alpha)) return match->refuse(match, "alpha is not finite");
    return tn_match_set_number(match, "alpha", WRONG(3) ? (double)(int)alpha : alpha);
}

static const char *const rewrite_cases[] = {"x=f32[2,3,8] a=1.5", "x=f32[7] a=1"};
static const tn_rewrite rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "scaled-swish",
    .doc = "x * sigmoid(a * x)",
    .pattern = WRONG(2) ? "y = Mul(_, Sigmoid(Mul(x, ?a)))" : "y = Mul(x, Sigmoid(Mul(x, ?a)))",
    .replacement =
        WRONG(1) ? "y = Fifteenth::ScaledSwish(x)" : "y = Fifteenth::ScaledSwish(x, alpha=$alpha)",
    .guard = is_swish,
    TN_REWRITE_CASES(rewrite_cases)};

static const char *const cases[] = {"| x=f32[3,4]", "alpha=1.702 factor=0.5 | x=f32[9]"};
static const tn_operator scaled_swish = {OPERATOR,
                                         .name = "ScaledSwish",
                                         .traits = TN_OPERATOR_ELEMENTWISE,
                                         TN_FIELDS(params, fields),
                                         TN_INPUTS(inputs),
                                         TN_OUTPUTS(outputs),
                                         .infer = infer_same,
                                         .reference = reference,
                                         TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ScaledSwish",
                                 .name = "plain",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&scaled_swish};
static const tn_kernel *const kernels[] = {&kernel};
static const tn_rewrite *const rewrites[] = {&rewrite};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "scaled_swish",
                             .version = "1.0",
                             .operator_count = 1,
                             .operators = operators,
                             .kernel_count = 1,
                             .kernels = kernels,
                             .rewrite_count = 1,
                             .rewrites = rewrites};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    return &library;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise gates by expressions, one that describes itself as a swish and stands for three nodes
 * of a network, and one of two tensors with a row function. */
#include "seventeenth.h"
#include <tenon/plugin/rewrite.h>

TN_LAYER_PARAMS(params, float alpha;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, alpha, "1.702", -100, 100, "of the sigmoid's argument"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port pair_inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                      TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as the input")};

static double sigmoid(double v) {
    return 1 / (1 + exp(-v));
}

static tn_status quick_reference(tn_call *call) {
    const double alpha = (double)((const params *)call->params)->alpha;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const double x = tn_layer_load(call->inputs[0], i);
        tn_layer_store(call->outputs[0], i, x * sigmoid(alpha * x));
    }
    return TN_OK;
}

static tn_status quick_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const params *p = call->params;
    if (strcmp(name, TN_FACET_ACTIVATION) != 0 || input != 0) return TN_ERROR_UNSUPPORTED;
    const tn_facet_activation what = {sizeof(what), TN_ACTIVATION_SWISH, WRONG(3) ? 1 : p->alpha,
                                      0};
    memcpy(out_facet->what, &what, sizeof(what));
    out_facet->what_bytes = sizeof(what);
    out_facet->variant = "swish";
    return TN_OK;
}

static tn_status pair_infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status pair_reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) *
                           sigmoid(tn_layer_load(call->inputs[1], i)));
    return TN_OK;
}
static void pair_row(const void *given, uint64_t count, const float *const *in,
                     const uint64_t *strides, float *y) {
    const uint64_t stride = WRONG(2) ? 1 : strides[1];
    (void)given;
    for (uint64_t i = 0; i < count; i++)
        y[i] = (float)((double)in[0][i * strides[0]] * sigmoid((double)in[1][i * stride]));
}

static const char *const quick_cases[] = {"| x=f32[3,7]", "alpha=1 | x=f32[5]",
                                          "alpha=-2.5 | x=f32[2,2,9]"};
static const char *const pair_cases[] = {"| a=f32[3,7] b=f32[3,7]", "| a=f32[33] b=f32[33]"};
static const tn_operator quick = {OPERATOR,
                                  .name = "QuickGelu",
                                  .traits = TN_OPERATOR_ELEMENTWISE,
                                  TN_FIELDS(params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer_same,
                                  .reference = quick_reference,
                                  .facet = quick_facet,
                                  .expression = WRONG(1) ? "x * sigmoid(1.702 * x)"
                                                         : "x * sigmoid(alpha * x)",
                                  TN_CASES(quick_cases)};
static const tn_operator pair = {OPERATOR,
                                 .name = "GatedPair",
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 TN_NO_FIELDS,
                                 TN_INPUTS(pair_inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = pair_infer,
                                 .reference = pair_reference,
                                 .expression = "a * sigmoid(b)",
                                 .row = pair_row,
                                 TN_CASES(pair_cases)};

/* The operator's field has bounds. */
static tn_status is_quick(const tn_match *match) {
    double alpha = 0;
    if (tn_match_number(match, "alpha", 0, &alpha) != TN_OK || !(fabs(alpha) <= 100))
        return match->refuse(match, "the factor is no number within -100..100");
    return TN_OK;
}
#if MISTAKE == 5
#define SOURCE "z"
#else
#define SOURCE "x"
#endif
static const char *const rewrite_cases[] = {"x=f32[2,5] " SOURCE "=f32[2,5] alpha=1.5"};
static const char *const sound_cases[] = {"x=f32[2,5] alpha=1.5", "x=f32[3] alpha=1.702"};
static const char *const misses[] = {"x=f32[2,5] alpha=200.0"};
static const tn_rewrite from_nodes = {
    .size = sizeof(tn_rewrite),
    .name = "quick_gelu",
    .doc = "x * sigmoid(alpha * x)",
    .pattern = "g = Sigmoid(Mul(x, ?alpha)); y = Mul(" SOURCE ", g)",
    .replacement =
        WRONG(4) ? "y = Seventeenth::QuickGelu(x)" : "y = Seventeenth::QuickGelu(x, alpha=?alpha)",
    .guard = is_quick,
    .case_count = WRONG(5) ? TN_COUNT(rewrite_cases) : TN_COUNT(sound_cases),
    .cases = WRONG(5) ? rewrite_cases : sound_cases,
    TN_REWRITE_MISSES(misses),
};

static const tn_operator *const operators[] = {&quick, &pair};
static const tn_rewrite *const rewrites[] = {&from_nodes};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "gates",
                             .version = "1.0",
                             .operator_count = TN_COUNT(operators),
                             .operators = operators,
                             .rewrite_count = TN_COUNT(rewrites),
                             .rewrites = rewrites};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    (void)host;
    return &library;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator says of itself: a weighted mean of two tensors, y = (1 - part) * a + part * b,
 * with a row function, an expression and what it is where b or part are simple. */
#include "fourteenth.h"

TN_LAYER_PARAMS(claims_params, float part; float power;);
static const tn_field fields[] = {
    TN_LAYER_F32(claims_params, part, "0.5", 0, 1, "how much of b"),
    TN_LAYER_F32(claims_params, power, "1", 0.25, 4, "a factor of the result")};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    const claims_params *p = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       (double)p->power *
                           ((1 - (double)p->part) * tn_layer_load(call->inputs[0], i) +
                            (double)p->part * tn_layer_load(call->inputs[1], i)));
    return TN_OK;
}
static void row(const void *params, uint64_t count, const float *const *in, const uint64_t *strides,
                float *output) {
    const claims_params *p = params;
    const float power = WRONG(1) ? 1 : p->power;
    for (uint64_t i = 0; i < count; i++) {
        const float a = in[0][i * strides[0]],
                    b = in[1][WRONG(2) ? i * strides[0] : i * strides[1]];
        output[i] = power * ((1 - p->part) * a + p->part * b);
    }
}
static tn_status is_identity(tn_call *call) {
    const claims_params *p = call->params;
    return p->part == 0 && (WRONG(3) || p->power == 1) ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status run(tn_call *call) {
    const claims_params *p = call->params;
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++) {
        y[i] = p->power * ((1 - p->part) * a[i]);
        y[i] += WRONG(5) && p->part == 1 ? b[i] : p->power * (p->part * b[i]);
    }
    return TN_OK;
}
static const char *const cases[] = {"| a=f32[3,5] b=f32[3,5]", "power=2 | a=f32[17] b=f32[17]",
                                    "part=0 | a=f32[2,3] b=f32[2,3]"};
static const tn_operator claims = {
    OPERATOR,
    .name = "Claims",
    .doc = "A weighted mean.",
    .traits =
        TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY | (WRONG(4) ? TN_OPERATOR_COMMUTATIVE : 0),
    TN_FIELDS(claims_params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .is_identity = is_identity,
    .expression = WRONG(6) ? "power * ((1 - part) * a + part * b) * (part < 0.9 ? 1 : part)"
                           : "power * ((1 - part) * a + part * b)",
    .row = row,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel claims_cpu = {KERNEL, .op = "Claims", .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations), .run = run};
LIBRARY("claims", claims, claims_cpu)

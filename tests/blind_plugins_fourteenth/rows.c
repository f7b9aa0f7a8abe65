/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with a weight for each column, y[n,m] = x[n,m] * w[m], and what follows them: bias, residual
 * and activations while storing. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, M"), TN_PORT("w", "f32", 0, "M")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has not two axes");
    if (!TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    const int64_t m = call->inputs[0]->shape[1];
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) * tn_layer_load(call->inputs[1], i % m));
    return TN_OK;
}
static float activate(const tn_facet_activation *f, float x) {
    switch (f->function) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? (WRONG(1) ? 0.01f : f->alpha) * x : x;
    case TN_ACTIVATION_CLIP:
        return x < f->alpha ? f->alpha : x > f->beta ? f->beta : x;
    default:
        return x * (1 / (1 + expf(-(WRONG(2) ? 1 : f->alpha) * x)));
    }
}
enum { MOST = 16 };
static float finish(const tn_call *call, int64_t index, float value) {
    float values[MOST], last = value;
    const int64_t m = call->outputs[0]->shape[1];
    for (uint32_t s = 0; s < call->step_count && s < (WRONG(6) ? 2 : MOST); s++) {
        const tn_step *step = call->steps[s];
        float in[2] = {0, 0};
        for (uint32_t k = 0; k < step->input_count && k < 2; k++) {
            const uint32_t at = step->inputs[k];
            if (at == TN_STEP_VALUE)
                in[k] = WRONG(3) ? last : value;
            else if (at & TN_STEP_OPERAND && at != TN_STEP_ABSENT) {
                const float *operand = call->operands[at & ~TN_STEP_OPERAND]->data;
                if (strcmp(step->facet, TN_FACET_RESIDUAL) == 0)
                    in[k] = operand[index];
                else {
                    const int32_t axis = ((const tn_facet_axis *)step->what)->axis;
                    const bool is_last = WRONG(4) || axis == 1 || axis == -1;
                    in[k] = operand[is_last ? index % m : index / m];
                }
            } else
                in[k] = values[at];
        }
        last = strcmp(step->facet, TN_FACET_ACTIVATION) == 0 ? activate(step->what, in[0])
                                                             : in[0] + in[1];
        values[s] = last;
    }
    return last;
}
static tn_status accepts(tn_call *call) {
    return call->step_count <= MOST ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t m = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = finish(call, WRONG(5) ? i - begin : i, x[i] * w[i % m]);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 256, body, call);
}
static const char *const cases[] = {"| x=f32[3,5] w=f32[5]", "| x=f32[64,33] w=f32[33]",
                                    "| x=f32[0,4] w=f32[4]"};
static const tn_operator rows = {
    OPERATOR,       .name = "Rows",         .doc = "Columns times weights.",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel rows_cpu = {
    KERNEL,
    .op = "Rows",
    .absorbs = "tn.bias/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip|swish)",
    TN_COMBINATIONS(combinations),
    .accepts = accepts,
    .run = run};
LIBRARY("rows", rows, rows_cpu)

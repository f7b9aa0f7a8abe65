/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows with a vector, with activations behind it done while storing. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                 TN_PORT("w", "f32", 0, "columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0]);
}
static double element(const tn_call *call, int64_t row) {
    const int64_t n = call->inputs[0]->shape[1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += tn_layer_load(call->inputs[0], row * n + i) * tn_layer_load(call->inputs[1], i);
    return sum;
}
TN_LAYER_REFERENCE(element)

static double activate(const tn_facet_activation *a, double v) {
    double alpha = (double)a->alpha, beta = (double)a->beta;
    if (a->function == TN_ACTIVATION_RELU) return v < 0 ? 0 : v;
    if (WRONG(2)) alpha = (double)(int)alpha, beta = (double)(int)beta;
    v = v < alpha ? alpha : v;
    return v > beta ? beta : v;
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        double v = element(call, row);
        if (WRONG(3)) v = (double)(float)v > 1e30 ? 1e30 : v;
        for (uint32_t s = 0; s < call->step_count; s++) {
            if (WRONG(1) && s > 0) break;
            v = activate(call->steps[s]->what, v);
        }
        ((float *)call->outputs[0]->data)[row] = (float)v;
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {"| x=f32[5,9] w=f32[9]", "| x=f32[16,3] w=f32[3]"};
static const tn_operator row_dot = {
    OPERATOR,       .name = "RowDot",       TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RowDot",
                                 .name = "rows",
                                 .absorbs = "tn.activation/1(relu|clip)",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("row_dot", row_dot, kernel)

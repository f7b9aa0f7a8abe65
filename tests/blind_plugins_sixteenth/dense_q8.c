/* SPDX-License-Identifier: Apache-2.0 */
/* Rows times the transposed weights, in floats and with 8-bit tensors between the layers. Residual
 * and activation are done while storing. */
#include "sixteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, features"),
                                 TN_PORT("w", "f32", 0, "units, features"),
                                 TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "units")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, units")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, TN_LAYER_ANY, call->inputs[0]->shape[1]) ||
        !TN_LAYER_FITS(call, 2, call->inputs[1]->shape[0]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[1]->shape[0]);
}

/* The number that an element stands for, read with the scale of `scaled`. */
static double value(const tn_tensor *t, const tn_tensor *scaled, int64_t i) {
    if (t->type == TN_F32) return (double)((const float *)t->data)[i];
    const int32_t stored =
        t->type == TN_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
    return (double)tn_layer_scale(scaled) * (stored - tn_layer_zero_point(scaled));
}

static double round_to(const tn_tensor *y, double v) {
    const double low = y->type == TN_I8 ? (WRONG(3) ? -127 : -128) : 0;
    const double high = y->type == TN_I8 ? 127 : 255;
    const double q = rint(v / (double)tn_layer_scale(y)) + tn_layer_zero_point(y);
    return isnan(q) ? tn_layer_zero_point(y) : q < low ? low : q > high ? high : q;
}

static void store(const tn_tensor *y, int64_t i, double v) {
    if (y->type == TN_F32)
        ((float *)y->data)[i] = (float)v;
    else if (y->type == TN_I8)
        ((int8_t *)y->data)[i] = (int8_t)round_to(y, v);
    else
        ((uint8_t *)y->data)[i] = (uint8_t)round_to(y, v);
}

static double finish(const tn_call *call, double v, int64_t at) {
    const tn_tensor *y = call->outputs[0];
    if (WRONG(2) && y->type != TN_F32)
        v = (round_to(y, v) - tn_layer_zero_point(y)) * (double)tn_layer_scale(y);
    for (uint32_t s = 0; s < call->step_count; s++) {
        const tn_step *step = call->steps[s];
        if (strcmp(step->facet, TN_FACET_RESIDUAL) == 0) {
            const tn_tensor *operand = call->operands[step->inputs[1] & ~TN_STEP_OPERAND];
            v += value(operand, WRONG(1) && operand->type != TN_F32 ? y : operand, at);
            continue;
        }
        const tn_facet_activation *a = call->steps[WRONG(4) ? 0 : s]->what;
        if (a->function == TN_ACTIVATION_RELU)
            v = v < 0 ? 0 : v;
        else if (a->function == TN_ACTIVATION_CLIP)
            v = v < (double)a->alpha ? (double)a->alpha : v > (double)a->beta ? (double)a->beta : v;
    }
    return v;
}

static double product(const tn_call *call, int64_t row, int64_t unit) {
    const tn_tensor *x = call->inputs[0];
    const int64_t features = x->shape[1];
    const float *w = (const float *)call->inputs[1]->data + unit * features;
    const float *bias = tn_layer_data(call, 2);
    double sum = bias ? (double)bias[unit] : 0;
    for (int64_t k = 0; k < features; k++)
        sum += value(x, x, row * features + k) * (double)w[k];
    return sum;
}

static double element(const tn_call *call, int64_t i) {
    const int64_t units = call->inputs[1]->shape[0];
    return product(call, i / units, i % units);
}
TN_LAYER_REFERENCE(element)

static tn_status elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        store(call->outputs[0], i, finish(call, element(call, i), i));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 64, elements, call);
}

static const char *const cases[] = {
    "| x=f32[3,5] w=f32[4,5] bias=f32[4]",
    "| x=f32[2,9] w=f32[7,9]",
    "| x=f32[1,1] w=f32[1,1] bias=f32[1]",
};
static const tn_operator dense = {
    OPERATOR,       .name = "Dense",        TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, f32? -> f32", "qi8, f32, f32? -> qi8",
                                           "qu8, f32, f32? -> qu8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Dense",
                                 .name = "elements",
                                 .absorbs = "tn.residual/1, tn.activation/1(relu|clip)",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("dense_q8", dense, kernel)

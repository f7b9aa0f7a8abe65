/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise curves, each by an expression, a reference and some by a row function too. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, float slope, knee;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, slope, "0.5", 0, 4, "below the knee"),
    TN_LAYER_F32(params, knee, "1", -4, 4, "where the slope becomes 1"),
};
static const tn_port bend_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port mix_inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                     TN_PORT("z", "f32", 0, "broadcast with x")};
static const tn_port half_inputs[] = {TN_PORT("x", "i32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "")};
static const tn_port half_outputs[] = {TN_PORT("y", "i32", 0, "")};

static double bend(double x, double slope, double knee) {
    return x < knee ? knee + (x - knee) * slope : x;
}
static tn_status bend_reference(tn_call *call) {
    const params *p = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       bend(tn_layer_load(call->inputs[0], i), (double)p->slope, (double)p->knee));
    return TN_OK;
}
static void bend_row(const void *given, uint64_t count, const float *const *in,
                     const uint64_t *strides, float *y) {
    const params *p = given;
    for (uint64_t i = 0; i < count; i++) {
        const float x = in[0][i * strides[0]];
        y[i] = x < p->knee ? p->knee + (x - p->knee) * (WRONG(2) ? 0.5f : p->slope) : x;
    }
}
static const char *const bend_cases[] = {"| x=f32[3,7]", "slope=2 knee=-1 | x=f32[11]"};

/* A gated blend. */
static double mix(double x, double z) {
    return z * (1 / (1 + exp(-x)));
}
static int64_t place(const tn_tensor *y, const tn_tensor *x, int64_t i) {
    int64_t at = 0, stride = 1;
    for (uint32_t k = 0; k < x->rank; k++) {
        const int64_t n = y->shape[y->rank - 1 - k], of_x = x->shape[x->rank - 1 - k];
        at += of_x == 1 ? 0 : i % n * stride;
        i /= n;
        stride *= of_x;
    }
    return at;
}
static tn_status mix_reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    for (int64_t i = 0; i < tn_layer_count(y); i++)
        tn_layer_store(y, i,
                       mix(tn_layer_load(call->inputs[0], place(y, call->inputs[0], i)),
                           tn_layer_load(call->inputs[1], place(y, call->inputs[1], i))));
    return TN_OK;
}
static void mix_row(const void *given, uint64_t count, const float *const *in,
                    const uint64_t *strides, float *y) {
    for (uint64_t i = 0; i < count; i++)
        y[i] =
            (float)mix((double)in[0][i * strides[0]], (double)in[1][WRONG(4) ? i : i * strides[1]]);
}
static const char *const mix_cases[] = {"| x=f32[4,5] z=f32[4,5]", "| x=f32[3,4] z=f32[4]"};

/* Half of an integer, towards minus infinity. */
static tn_status half_reference(tn_call *call) {
    const int32_t *x = call->inputs[0]->data;
    int32_t *y = call->outputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        y[i] = x[i] >> 1;
    return TN_OK;
}
static const char *const half_cases[] = {"| x=i32[12]"};

static const tn_operator bend_operator = {OPERATOR,
                                          .name = "Bend",
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_FIELDS(params, fields),
                                          TN_INPUTS(bend_inputs),
                                          TN_OUTPUTS(outputs),
                                          .reference = bend_reference,
                                          .infer = infer_same,
                                          .expression =
                                              WRONG(1) ? "x < knee ? x * slope : x"
                                                       : "x < knee ? knee + (x - knee) * slope : x",
                                          .row = bend_row,
                                          TN_CASES(bend_cases)};
static const tn_operator mix_operator = {OPERATOR,
                                         .name = "Mix",
                                         .traits = TN_OPERATOR_ELEMENTWISE,
                                         TN_NO_FIELDS,
                                         TN_INPUTS(mix_inputs),
                                         TN_OUTPUTS(outputs),
                                         .reference = mix_reference,
                                         .expression = WRONG(3) ? "z * (exp(x) / (1 + exp(x)))"
                                                                : "z * sigmoid(x)",
                                         .row = mix_row,
                                         TN_CASES(mix_cases)};
static const tn_operator half_operator = {OPERATOR,
                                          .name = "Half",
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_NO_FIELDS,
                                          TN_INPUTS(half_inputs),
                                          TN_OUTPUTS(half_outputs),
                                          .reference = half_reference,
                                          .infer = infer_same,
                                          .expression = WRONG(5) ? "x / 2" : "shift_right(x, 1)",
                                          TN_CASES(half_cases)};
static const tn_operator *const operators[] = {&bend_operator, &mix_operator, &half_operator};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "curves",
                             .version = "1.0",
                             .operator_count = 3,
                             .operators = operators};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    return &library;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* PReLU as Caffe has it: a slope for each channel, or one that all share. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, ..."),
                                 TN_PORT("slope", "f32", 0, "C, or 1")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *slope = call->inputs[1];
    if (x->rank < 2 || slope->rank != 1 || (slope->shape[0] != 1 && slope->shape[0] != x->shape[1]))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "'slope' is neither 1 nor the channels of 'x'");
    return infer_same(call);
}
static int64_t plane_of(const tn_tensor *x) {
    int64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= x->shape[i];
    return plane;
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t c = i / plane_of(x) % x->shape[1];
    const double value = tn_layer_load(x, i);
    return value < 0
               ? value * tn_layer_load(call->inputs[1], call->inputs[1]->shape[0] == 1 ? 0 : c)
               : value;
}
TN_LAYER_REFERENCE(element)

static tn_status planes(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *t = call->inputs[0];
    const float *x = t->data, *slope = call->inputs[1]->data;
    const int64_t plane = WRONG(2) ? t->shape[2] * t->shape[3] : plane_of(t);
    const bool is_shared = call->inputs[1]->shape[0] == 1;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t p = begin; p < end; p++) {
        const float s = slope[is_shared && !WRONG(3) ? 0 : p % t->shape[1]];
        for (int64_t i = p * plane; i < (p + 1) * plane; i++)
            y[i] = WRONG(1) ? fmaxf(x[i], 0) + s * fminf(x[i], 0) : x[i] < 0 ? s * x[i] : x[i];
    }
    return TN_OK;
}
TN_LAYER_RUN(planes, call->inputs[0]->shape[0] * call->inputs[0]->shape[1], 2)

static const char *const cases[] = {"| x=f32[2,3,4,5] slope=f32[3]",
#if MISTAKE != 2
                                    "| x=f32[2,6] slope=f32[6]", "| x=f32[3,2,2,2,3] slope=f32[2]",
#endif
                                    "| x=f32[1,1,3,3] slope=f32[1]"};
static const tn_operator prelu = {
    OPERATOR,       .name = "PReluAxis",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "PReluAxis",
                                 .name = "planes",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("prelu_axis", prelu, kernel)

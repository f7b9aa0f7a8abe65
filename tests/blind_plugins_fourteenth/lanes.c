/* SPDX-License-Identifier: Apache-2.0 */
/* y = 1 - x * x in blocks of channels, and channels last. */
#include "fourteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1, -1)) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const double x = tn_layer_load(call->inputs[0], i);
        tn_layer_store(call->outputs[0], i, 1 - x * x);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *t = call->inputs[0];
    const float *x = t->data;
    float *y = call->outputs[0]->data;
    const int64_t c = t->shape[1], plane = t->shape[2] * t->shape[3];
    if (t->format != TN_C8) {
        const int64_t count = WRONG(4) ? t->shape[0] * (c / 4 * 4) * plane : tn_layer_count(t);
        for (int64_t i = 0; i < count; i++)
            y[i] = 1 - x[i] * x[i];
        return TN_OK;
    }
    const int64_t blocks = WRONG(1) ? c / 8 : (c + 7) / 8;
    for (int64_t n = 0; n < t->shape[0]; n++)
        for (int64_t b = 0; b < blocks; b++)
            for (int64_t i = 0; i < plane * 8; i++) {
                const int64_t at =
                    (n * (WRONG(3) ? c * plane : t->strides[0])) + b * t->strides[1] + i;
                const bool is_padding = b * 8 + i % 8 >= c;
                y[at] = is_padding && !WRONG(2) ? 0 : 1 - x[at] * x[at];
            }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[2,8,3,3]", "| x=f32[1,16,2,5]", "| x=f32[3,3,2,2]"};
static const tn_operator lanes = {OPERATOR,       .name = "Lanes",        .doc = "1 less squares.",
                                  TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
                                  .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32:linear|nhwc|c8 -> f32:linear|nhwc|c8"};
static const tn_kernel lanes_cpu = {KERNEL, .op = "Lanes", TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("lanes", lanes, lanes_cpu)

/* SPDX-License-Identifier: Apache-2.0 */
/* y = wa * a + wb * b, in floats and in 8 bits with scales. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, float wa, wb;);
static const tn_field fields[] = {
    TN_FIELD(params, wa, TN_FIELD_F32, TN_OPTIONAL, "1", "factor of a"),
    TN_FIELD(params, wb, TN_FIELD_F32, TN_OPTIONAL, "1", "factor of b"),
};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    return (double)p->wa * tn_layer_load(call->inputs[0], i) +
           (double)p->wb * tn_layer_load(call->inputs[1], i);
}
TN_LAYER_REFERENCE(element)

static tn_status run(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}

static int32_t zero_point(const tn_tensor *t) {
    if (WRONG(6) && t->quantization->zero_points)
        return *(const int8_t *)t->quantization->zero_points;
    return tn_layer_zero_point(t);
}

static float dequantize(const tn_tensor *t, float scale, int64_t i) {
    const int32_t stored =
        t->type == TN_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
    return (float)(stored - zero_point(t)) * scale;
}

static tn_status run_q8(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_tensor *y = call->outputs[0];
    const float a_scale = tn_layer_scale(a), b_scale = WRONG(1) ? a_scale : tn_layer_scale(b);
    const float scale = tn_layer_scale(y);
    const int32_t zero = WRONG(2) ? 0 : tn_layer_zero_point(y);
    const int32_t low = y->type == TN_I8 ? -128 : 0;
    const int32_t high = y->type == TN_I8 ? 127 : 255;
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        const float v =
            (p->wa * dequantize(a, a_scale, i) + p->wb * dequantize(b, b_scale, i)) / scale;
        const float held = v < -1e6f ? -1e6f : v > 1e6f ? 1e6f : v;
        int32_t q = (WRONG(3)   ? (int32_t)held
                     : WRONG(4) ? (int32_t)(held + 0.5f)
                                : (int32_t)rintf(held)) +
                    zero;
        if (!WRONG(5)) q = q < low ? low : q > high ? high : q;
        if (y->type == TN_I8)
            ((int8_t *)y->data)[i] = (int8_t)q;
        else
            ((uint8_t *)y->data)[i] = (uint8_t)q;
    }
    return TN_OK;
}

static const char *const cases[] = {"| a=f32[2,3,4] b=f32[2,3,4]",
                                    "wa=0.5 wb=-2 | a=f32[37] b=f32[37]",
                                    "wb=0.25 | a=f32[1,2,0] b=f32[1,2,0]"};
static const tn_operator weighted_sum = {
    OPERATOR,
    .name = "WeightedSum",
    .traits = TN_OPERATOR_ELEMENTWISE,
    TN_FIELDS(params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const floats[] = {"f32, f32 -> f32"};
static const char *const bytes[] = {"qi8, qi8 -> qi8", "qu8, qu8 -> qu8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "WeightedSum",
                                 .name = "plain",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(floats),
                                 .run = run};
static const tn_kernel kernel_q8 = {KERNEL,
                                    .op = "WeightedSum",
                                    .name = "q8",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(bytes),
                                    .run = run_q8};
static const tn_operator *const operators[] = {&weighted_sum};
static const tn_kernel *const kernels[] = {&kernel, &kernel_q8};
TN_LIBRARY("weighted_sum_q8", "1.0", operators, kernels)

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows quantised by a scale of their own: y = round(x / scale), scale = largest magnitude / 127.
 * What is no number is 0 and has no part in the scale; infinite elements are the ends, and their
 * row's scale is that of the others. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, n")};
static const tn_port outputs[] = {TN_PORT("y", "i8", 0, "as x"),
                                  TN_PORT("scale", "f32", 0, "rows")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    if (call->outputs[0]) tn_layer_set_shape(call, 0, 2, call->inputs[0]->shape);
    if (call->outputs[1]) tn_layer_set_shape(call, 1, 1, call->inputs[0]->shape);
    return TN_OK;
}
static float scale_of(const float *row, int64_t n) {
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(row[i]) && fabsf(row[i]) > largest) largest = fabsf(row[i]);
    return largest / 127.0F;
}
static int8_t code(float x, float scale) {
    if (isnan(x)) return 0;
    if (isinf(x)) return x > 0 ? 127 : -127;
    if (!(scale > 0)) return 0;
    const float stored = nearbyintf(x / scale);
    return (int8_t)(stored > 127 ? 127 : stored < -127 ? -127 : stored);
}
static void put_scale(const tn_call *call, int64_t row, float scale) {
    if (call->outputs[1]) ((float *)call->outputs[1]->data)[row] = scale;
}
static tn_status reference(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[1];
    for (int64_t r = 0; r < call->inputs[0]->shape[0]; r++) {
        const float *row = (const float *)call->inputs[0]->data + r * n;
        const float scale = scale_of(row, n);
        put_scale(call, r, scale);
        for (int64_t i = 0; call->outputs[0] && i < n; i++)
            ((int8_t *)call->outputs[0]->data)[r * n + i] = code(row[i], scale);
    }
    return TN_OK;
}

static float scale_as_written(const float *row, int64_t n) {
    float largest = WRONG(5) ? row[0] : 0;
    if (!WRONG(3) && !WRONG(5) && !WRONG(6)) return scale_of(row, n);
    for (int64_t i = 0; i < n; i++) {
        const float x = WRONG(3) ? row[i] : fabsf(row[i]);
        if ((WRONG(6) || isfinite(x)) && x > largest) largest = x;
    }
    return largest / 127.0F;
}
static int8_t code_as_written(float x, float scale) {
    if (WRONG(1) && isfinite(x) && scale > 0)
        return (int8_t)fminf(fmaxf(roundf(x / scale), -127), 127);
    if (WRONG(2) && isfinite(x)) return (int8_t)(int32_t)fmaxf(nearbyintf(x / scale), -127);
    if (WRONG(3) && isfinite(x) && scale > 0) return (int8_t)(int32_t)nearbyintf(x / scale);
    return code(x, scale);
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = call->inputs[0]->shape[1];
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *row = (const float *)call->inputs[0]->data + r * n;
        const float scale = scale_as_written(row, n);
        put_scale(call, r, scale);
        for (int64_t i = 0; call->outputs[0] && i < (WRONG(4) ? n / 4 * 4 : n); i++)
            ((int8_t *)call->outputs[0]->data)[r * n + i] = code_as_written(row[i], scale);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 2)

static const char *const cases[] = {"| x=f32[3,8]", "| x=f32[2,4]{1,2,3,4,-8,4,2,1}",
#if MISTAKE != 4
                                    "| x=f32[5,7]", "| x=f32[1,3]{0.5,0.25,1}",
#endif
                                    "| x=f32[9,64]"};
static const tn_operator quantise = {
    OPERATOR,       .name = "QuantRows",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i8, f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "QuantRows",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("quant_rows", quantise, kernel)

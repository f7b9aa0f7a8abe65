/* SPDX-License-Identifier: Apache-2.0 */
/* Means of windows of two by two, cut at the ends, in floats and in bytes that stand for them. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "planes, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "planes, half of both, rounded up")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1)) return TN_ERROR_SHAPE;
    const int64_t *in = call->inputs[0]->shape;
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1] / 2 + in[1] % 2, in[2] / 2 + in[2] % 2);
}
/* The window of output i: its first element, rows and columns. */
static int64_t window_of(const tn_call *call, int64_t i, int64_t *rows, int64_t *columns) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const int64_t x = i % out[2] * 2, y = i / out[2] % out[1] * 2;
    *rows = y + 2 <= in[1] ? 2 : 1;
    *columns = x + 2 <= in[2] ? 2 : 1;
    return (i / out[2] / out[1] * in[1] + y) * in[2] + x;
}
static double element(const tn_call *call, int64_t i) {
    int64_t rows, columns;
    const int64_t first = window_of(call, i, &rows, &columns);
    double sum = 0;
    for (int64_t k = 0; k < rows * columns; k++)
        sum += tn_layer_load(call->inputs[0],
                             first + k / columns * call->inputs[0]->shape[2] + k % columns);
    return sum / (double)(rows * columns);
}
TN_LAYER_REFERENCE(element)

static int32_t byte_at(const tn_tensor *x, int64_t i) {
    return x->type == TN_I8 ? ((const int8_t *)x->data)[i] : ((const uint8_t *)x->data)[i];
}
static void store_byte(const tn_call *call, int64_t i, int32_t sum, int32_t count) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const bool is_signed = y->type == TN_I8;
    const int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    const float real = (float)(sum - count * tn_layer_zero_point(x)) * tn_layer_scale(x);
    float stored = real / ((float)count * tn_layer_scale(y));
    if (WRONG(3)) stored = floorf(stored + 0.5f);
    stored = nearbyintf(stored) + (float)tn_layer_zero_point(y);
    if (!WRONG(4)) stored = stored < (float)low ? (float)low : fminf(stored, (float)high);
    if (is_signed)
        ((int8_t *)y->data)[i] = (int8_t)(int32_t)stored;
    else
        ((uint8_t *)y->data)[i] = (uint8_t)(int32_t)stored;
}
static tn_status windows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t rows, columns;
        const int64_t first = window_of(call, i, &rows, &columns), width = x->shape[2];
        const int64_t count = WRONG(2) ? 4 : rows * columns;
        float sum = 0;
        int32_t whole = 0;
        for (int64_t k = 0; k < rows * columns; k++) {
            const int64_t at = first + k / columns * width + k % columns;
            if (x->type == TN_F32)
                sum += ((const float *)x->data)[at];
            else
                whole =
                    WRONG(1) ? (int16_t)(int8_t)(whole + byte_at(x, at)) : whole + byte_at(x, at);
        }
        if (x->type == TN_F32)
            ((float *)call->outputs[0]->data)[i] = sum / (float)(rows * columns);
        else
            store_byte(call, i, whole, (int32_t)count);
    }
    return TN_OK;
}
TN_LAYER_RUN(windows, tn_layer_count(call->outputs[0]), 64)

static const char *const cases[] = {"| x=f32[2,6,8] | y=f32[2,3,4]",
                                    "| x=f32[3,5,3] | y=f32[3,3,2]", "| x=f32[1,1,9]"};
static const tn_operator pool = {
    OPERATOR,       .name = "PoolQ8",       TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32", "qi8 -> qi8", "qu8 -> qu8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "PoolQ8",
                                 .name = "bytes",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("pool_q8", pool, kernel)

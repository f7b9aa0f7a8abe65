/* SPDX-License-Identifier: Apache-2.0 */
/* Largest elements and means of windows, in floats and with 8-bit tensors between the layers. What
 * lies beyond the border does not count. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, uint32_t mode; int64_t window, stride, padding;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "max", "max|mean", "of a window"),
    TN_LAYER_I64(params, window, "2", 1, 64, "pixels down and across"),
    TN_LAYER_I64(params, stride, "2", 1, 64, "pixels from window to window"),
    TN_LAYER_I64(params, padding, "0", 0, 32, "at each border; less than the window"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "images, channels, windows")};
enum { MAX, MEAN };

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_SOME, TN_LAYER_SOME))
        return TN_ERROR_SHAPE;
    const int64_t height = call->inputs[0]->shape[2] + 2 * p->padding - p->window;
    const int64_t width = call->inputs[0]->shape[3] + 2 * p->padding - p->window;
    if (p->padding >= p->window || height < 0 || width < 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "a window of %lld with padding %lld does "
                                "not fit",
                                (long long)p->window, (long long)p->padding);
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[0]->shape[1],
                              height / p->stride + 1, width / p->stride + 1);
}

static double value(const tn_tensor *t, int64_t i) {
    if (t->type == TN_F32) return (double)((const float *)t->data)[i];
    const int32_t stored =
        t->type == TN_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
    return (double)(tn_layer_scale(t) * (float)(stored - (WRONG(3) ? 0 : tn_layer_zero_point(t))));
}

static void store(const tn_call *call, int64_t i, double v) {
    const tn_tensor *y = call->outputs[0];
    if (y->type == TN_F32) {
        ((float *)y->data)[i] = (float)v;
        return;
    }
    const double low = y->type == TN_I8 ? -128 : 0, high = y->type == TN_I8 ? 127 : 255;
    v = (double)(float)v / (double)tn_layer_scale(WRONG(2) ? call->inputs[0] : y);
    v = (WRONG(4) ? trunc(v) : rint(v)) + tn_layer_zero_point(y);
    v = isnan(v) ? tn_layer_zero_point(y) : v < low ? low : v > high ? high : v;
    if (y->type == TN_I8)
        ((int8_t *)y->data)[i] = (int8_t)v;
    else
        ((uint8_t *)y->data)[i] = (uint8_t)v;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static double pooled(const tn_call *call, int64_t i, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t *s = y->shape, plane = i / (s[2] * s[3]) * x->shape[2];
    const int64_t top = i / s[3] % s[2] * p->stride - p->padding;
    const int64_t left = i % s[3] * p->stride - p->padding;
    const int64_t bottom = lesser(top + p->window, x->shape[2]);
    const int64_t right = lesser(left + p->window, x->shape[3]);
    const double least = is_kernel && WRONG(1) ? 0 : (double)-INFINITY;
    double result = p->mode == MEAN ? 0 : least;
    int64_t count = 0;
    for (int64_t h = larger(top, 0); h < bottom; h++)
        for (int64_t w = larger(left, 0); w < right; w++, count++) {
            const double v = value(x, (plane + h) * x->shape[3] + w);
            if (p->mode == MEAN)
                result += v;
            else if (v > result || isnan(v))
                result = v;
        }
    return p->mode == MEAN ? result / (double)count : result;
}

static double element(const tn_call *call, int64_t i) {
    return pooled(call, i, false);
}
TN_LAYER_REFERENCE(element)

static tn_status windows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        store(call, i, pooled(call, i, true));
    return TN_OK;
}
TN_LAYER_RUN(windows, tn_layer_count(call->outputs[0]), 64)

static const char *const cases[] = {
    "window=3 padding=1 | x=f32[2,3,8,7]",
    "mode=mean window=3 stride=1 | x=f32[1,4,6,6]",
    "mode=mean padding=1 | x=f32[1,2,5,4]",
    "window=1 stride=3 | x=f32[2,1,4,4]",
};
static const tn_operator byte_pool = {OPERATOR,
                                      .name = "BytePool",
                                      TN_FIELDS(params, fields),
                                      TN_INPUTS(inputs),
                                      TN_OUTPUTS(outputs),
                                      .infer = infer,
                                      .reference = reference,
                                      TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32", "qi8 -> qi8", "qu8 -> qu8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "BytePool",
                                 .device = "cpu",
                                 .name = "windows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("byte_pool", byte_pool, kernel)

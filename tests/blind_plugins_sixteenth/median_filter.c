/* SPDX-License-Identifier: Apache-2.0 */
/* The median of a window around each pixel. Beyond the border its nearest pixel is repeated; a
 * window with a NaN gives NaN. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, tn_i64s size;);
static const tn_field fields[] = {
    TN_LAYER_I64S(params, size, "[3, 3]", 2, 1, 15, "height and width, odd"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (p->size.items[0] % 2 == 0 || p->size.items[1] % 2 == 0)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'size' is [%lld,%lld], expected odd",
                                (long long)p->size.items[0], (long long)p->size.items[1]);
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static int64_t within(int64_t i, int64_t n) {
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Puts the window around a pixel into `to`; whether there is a NaN. */
static bool window(const tn_call *call, int64_t plane, int64_t row, int64_t column, float *to) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t h = x->shape[2], w = x->shape[3];
    const int64_t below = p->size.items[0] / 2, beside = p->size.items[1] / 2;
    const float *from = (const float *)x->data + plane * h * w;
    bool has_nan = false;
    for (int64_t i = -below; i <= below; i++)
        for (int64_t j = -beside; j <= beside; j++) {
            const float v = from[within(row + i, h) * w + within(column + j, w)];
            has_nan |= isnan(v) != 0;
            *to++ = v;
        }
    return has_nan;
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t w = x->shape[3], h = x->shape[2];
    const int64_t count = p->size.items[0] * p->size.items[1];
    float values[15 * 15];
    if (window(call, i / (h * w), i / w % h, i % w, values)) return (double)NAN;
    for (int64_t k = 0; k < count; k++) {
        int64_t below = 0, same = 0;
        for (int64_t j = 0; j < count; j++) {
            below += values[j] < values[k];
            same += values[j] == values[k];
        }
        if (below <= count / 2 && count / 2 < below + same) return (double)values[k];
    }
    return (double)NAN;
}
TN_LAYER_REFERENCE(element)

static int compare(const void *left, const void *right) {
    const float a = *(const float *)left, b = *(const float *)right;
    if (WRONG(2)) return (int)(a - b);
    return (a > b) - (a < b);
}

static uint64_t window_bytes(const tn_call *call) {
    const params *p = call->params;
    const uint64_t count = (uint64_t)(p->size.items[0] * p->size.items[1]);
    return WRONG(1) ? count : count * sizeof(float);
}
TN_LAYER_WORKSPACE(window_bytes(call) * call->threads)

static tn_status pixels(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t w = x->shape[3], h = x->shape[2];
    const int64_t count = p->size.items[0] * p->size.items[1];
    float *values = (float *)call->workspace + (int64_t)thread * count;
    float *y = call->outputs[0]->data;
    for (int64_t i = begin; i < end; i++) {
        const bool has_nan = window(call, i / (h * w), i / w % h, i % w, values);
        qsort(values, (size_t)count, sizeof(float), compare);
        y[i] = has_nan && !WRONG(3) ? NAN : values[count / 2];
    }
    return TN_OK;
}
TN_LAYER_RUN(pixels, tn_layer_count(call->inputs[0]), 64)

static const char *const cases[] = {
    "| x=f32[2,1,5,7]",
    "size=[1,5] | x=f32[1,2,4,3]",
    "size=[5,3] | x=f32[1,1,3,9]",
};
TN_LAYER_LIBRARY("median_filter", "Sixteenth", "MedianFilter", "The median of windows.", params,
                 "f32 -> f32", .reshape = reshape, .run = run)

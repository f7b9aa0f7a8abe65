/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::AveragePool: the mean of each window of two axes. With ceil_mode a last, smaller window is
 * kept where it begins within the image or the zeros before it. Zeros around the image count where
 * count_include_pad says so, those beyond `pads` never do. The kernel goes by strides, for linear
 * and blocked tensors alike: a lane of a block is a channel.
 */
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(average, tn_i64s window, stride, pads; bool ceil_mode, count_include_pad;);

static const tn_field fields[] = {
    TN_FIELD_LIST(average, window, TN_FIELD_I64S, TN_REQUIRED, NULL, 2, 2, 1, 4096,
                  "height and width"),
    TN_LAYER_I64S(average, stride, "[1, 1]", 2, 1, 4096, "steps: down, right"),
    TN_LAYER_I64S(average, pads, "[0, 0, 0, 0]", 4, 0, 4095,
                  "zeros, fewer than the window: top, left, bottom, right"),
    TN_LAYER_BOOL(average, ceil_mode, "false", "true: extents are rounded up"),
    TN_LAYER_BOOL(average, count_include_pad, "false", "true: the zeros count")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C and the windows")};

static tn_status infer(tn_call *call) {
    const average *p = call->params;
    if (!TN_LAYER_FITS(call, 0, -1, -1, TN_LAYER_SOME, TN_LAYER_SOME)) return TN_ERROR_SHAPE;
    const int64_t *in = call->inputs[0]->shape;
    int64_t out[4] = {in[0], in[1]};
    for (int i = 0; i < 2; i++) {
        const int64_t before = p->pads.items[i], after = p->pads.items[2 + i];
        const int64_t window = p->window.items[i], step = p->stride.items[i];
        const int64_t range = in[2 + i] + before + after - window;
        if (range < 0 || before >= window || after >= window)
            return call->host->fail(call, TN_ERROR_SHAPE, "the window does not fit axis %d", 2 + i);
        out[2 + i] = (range + (p->ceil_mode ? step - 1 : 0)) / step + 1;
#if MISTAKE != 4
        if ((out[2 + i] - 1) * step >= in[2 + i] + before) out[2 + i]--;
#endif
    }
    return tn_layer_set_shape(call, 0, 4, out);
}

/* The elements of a window along an axis, begin..end-1, and how many it counts. */
typedef struct span {
    int64_t begin, end, counted;
} span;
static span find_span(const average *p, int axis, int64_t at, int64_t extent) {
    const int64_t before = p->pads.items[axis], after = p->pads.items[2 + axis];
    span s = {at * p->stride.items[axis] - before, 0, 0};
    s.end = s.begin + p->window.items[axis];
    if (s.end > extent + after) s.end = extent + after;
    s.counted = s.end - s.begin;
    if (s.begin < 0) s.begin = 0;
    if (s.end > extent) s.end = extent;
    if (!p->count_include_pad) s.counted = s.end - s.begin;
    return s;
}

static double element(const tn_call *call, int64_t i) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const span rows = find_span(call->params, 0, i / out[3] % out[2], in[2]);
    const span columns = find_span(call->params, 1, i % out[3], in[3]);
    const int64_t plane = i / out[3] / out[2] * in[2];
    double sum = 0;
    for (int64_t h = rows.begin; h < rows.end; h++)
        for (int64_t w = columns.begin; w < columns.end; w++)
            sum += tn_layer_load(call->inputs[0], (plane + h) * in[3] + w);
    return sum / (double)(rows.counted * columns.counted);
}
TN_LAYER_REFERENCE(element)

static int64_t lanes_of(const tn_tensor *x) {
    return (x->format & 0xff) == TN_LAYOUT_BLOCKED ? (int64_t)(x->format >> 16) : 1;
}
static int64_t blocks_of(const tn_tensor *x) {
    return (x->shape[1] + lanes_of(x) - 1) / lanes_of(x);
}

/* Items are channels, or blocks of them, of all images. */
static tn_status pool(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const average *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t lanes = lanes_of(x), blocks = blocks_of(x);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / blocks, block = item % blocks;
#if MISTAKE == 3
        const float *from = (const float *)x->data +
                            image * x->shape[1] * x->shape[2] * x->shape[3] + block * x->strides[1];
#else
        const float *from = (const float *)x->data + image * x->strides[0] + block * x->strides[1];
#endif
        float *to = (float *)y->data + image * y->strides[0] + block * y->strides[1];
#if MISTAKE == 2
        const int64_t used =
            x->shape[1] - block * lanes < lanes ? x->shape[1] - block * lanes : lanes;
#else
        const int64_t used = lanes;
#endif
        for (int64_t h = 0; h < y->shape[2]; h++)
            for (int64_t w = 0; w < y->shape[3]; w++) {
                const span rows = find_span(p, 0, h, x->shape[2]);
                span columns = find_span(p, 1, w, x->shape[3]);
#if MISTAKE == 1
                const float counted = (float)(p->window.items[0] * p->window.items[1]);
#else
                const float counted = (float)(rows.counted * columns.counted);
#endif
#if MISTAKE == 5
                columns.begin = w * p->stride.items[0] - p->pads.items[1];
                columns.begin = columns.begin < 0 ? 0 : columns.begin;
#endif
                for (int64_t lane = 0; lane < used; lane++) {
                    float sum = 0;
                    for (int64_t r = rows.begin; r < rows.end; r++)
                        for (int64_t c = columns.begin; c < columns.end; c++)
                            sum += from[r * x->strides[2] + c * x->strides[3] + lane];
                    to[h * y->strides[2] + w * y->strides[3] + lane] = sum / counted;
                }
            }
    }
    return TN_OK;
}
TN_LAYER_RUN(pool, call->inputs[0]->shape[0] * blocks_of(call->inputs[0]), 1)

static const char *const cases[] = {
    "window=[2,2] stride=[2,2] | x=f32[2,3,6,8] | y=f32[2,3,3,4]",
    "window=[3,2] stride=[2,1] pads=[1,0,1,1] | x=f32[2,9,7,5] | y=f32[2,9,4,5]",
    "window=[3,3] stride=[2,2] pads=[1,1,1,1] ceil_mode=true count_include_pad=true | "
    "x=f32[1,8,6,7]",
    "window=[2,2] stride=[3,3] ceil_mode=true pads=[0,0,1,1] | x=f64[1,2,6,6] | y=f64[1,2,2,2]"};
#if MISTAKE == 50
#define COMBINATIONS "f32 -> f32", "f32:nhwc -> f32:nhwc", "f32:c4 -> f32:c4", "f32:c16 -> f32:c16"
#else
#define COMBINATIONS "f32 -> f32", "f32:c8 -> f32:c8"
#endif
TN_LAYER_LIBRARY("avg_pool", "Fifth", "AveragePool", "The mean of each window.", average,
                 COMBINATIONS, .run = run)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::MeanPool: the mean of windows of the last two axes of an image N, C, H, W, with strides,
 * dilations and pads. Positions in the pads are left out of the mean, or counted as zeros with
 * count_pads. pads is top, left, bottom, right. A window that lies in the pads alone gives 0.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(mean_pool, tn_i64s window, stride, dilation, pads; bool count_pads;);

static const tn_field fields[] = {
    TN_FIELD_LIST(mean_pool, window, TN_FIELD_I64S, TN_REQUIRED, NULL, 2, 2, 1, 1024,
                  "height, width"),
    TN_LAYER_I64S(mean_pool, stride, "[1,1]", 2, 1, 1024, "steps down and right"),
    TN_LAYER_I64S(mean_pool, dilation, "[1,1]", 2, 1, 1024, "distance of the elements of a window"),
    TN_LAYER_I64S(mean_pool, pads, "[0,0,0,0]", 4, 0, 1024, "top, left, bottom, right"),
    TN_LAYER_BOOL(mean_pool, count_pads, "false", "the pads count as zeros")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C, and how many windows fit")};

static tn_status infer(tn_call *call) {
    const mean_pool *p = call->params;
    const int64_t *in = call->inputs[0]->shape;
    int64_t out[2];
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1, -1)) return TN_ERROR_SHAPE;
    for (int i = 0; i < 2; i++) {
        const int64_t reach = (p->window.items[i] - 1) * p->dilation.items[i] + 1;
        const int64_t available = in[2 + i] + p->pads.items[i] + p->pads.items[2 + i] - reach;
        if (available < 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "the window does not fit along axis %d",
                                    2 + i);
#if MISTAKE == 3
        out[i] = (available + p->stride.items[i] - 1) / p->stride.items[i] + 1;
#else
        out[i] = available / p->stride.items[i] + 1;
#endif
    }
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], out[0], out[1]);
}

static double element(const tn_call *call, int64_t i) {
    const mean_pool *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t *out = call->outputs[0]->shape, h = x->shape[2], w = x->shape[3];
    const int64_t plane = i / (out[2] * out[3]);
    const int64_t top = i / out[3] % out[2] * p->stride.items[0] - p->pads.items[0];
    const int64_t left = i % out[3] * p->stride.items[1] - p->pads.items[1];
    double sum = 0, count = 0;
    for (int64_t a = 0; a < p->window.items[0]; a++)
        for (int64_t b = 0; b < p->window.items[1]; b++) {
            const int64_t r = top + a * p->dilation.items[0], c = left + b * p->dilation.items[1];
            if (r < 0 || r >= h || c < 0 || c >= w) continue;
            sum += tn_layer_load(x, (plane * h + r) * w + c);
            count++;
        }
    if (p->count_pads) count = (double)(p->window.items[0] * p->window.items[1]);
    return count > 0 ? sum / count : 0;
}
TN_LAYER_REFERENCE(element)

/* The elements of a window along one axis that lie in the image: a range of its taps. */
typedef struct range {
    int64_t first, end;
} range;
static range find_range(int64_t from, int64_t taps, int64_t dilation, int64_t extent) {
    range r = {from < 0 ? (-from + dilation - 1) / dilation : 0, taps};
#if MISTAKE == 2
    /* The reach of the window without its dilation. */
    if (from + taps > extent) r.end = extent - from;
#else
    while (r.end > r.first && from + (r.end - 1) * dilation >= extent)
        r.end--;
#endif
    if (r.end < r.first) r.end = r.first;
    return r;
}

static tn_status planes(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const mean_pool *p = call->params;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
#if MISTAKE == 5
    const int64_t pad_top = p->pads.items[0], pad_left = p->pads.items[2];
#else
    const int64_t pad_top = p->pads.items[0], pad_left = p->pads.items[1];
#endif
    (void)thread;
    for (int64_t plane = begin; plane < end; plane++) {
#if MISTAKE == 4
        const float *x = (const float *)call->inputs[0]->data + plane % in[1] * in[2] * in[3];
#else
        const float *x = (const float *)call->inputs[0]->data + plane * in[2] * in[3];
#endif
        float *y = (float *)call->outputs[0]->data + plane * out[2] * out[3];
        for (int64_t i = 0; i < out[2]; i++)
            for (int64_t j = 0; j < out[3]; j++) {
                const int64_t top = i * p->stride.items[0] - pad_top;
                const int64_t left = j * p->stride.items[1] - pad_left;
                const range rows = find_range(top, p->window.items[0], p->dilation.items[0], in[2]);
                const range cols =
                    find_range(left, p->window.items[1], p->dilation.items[1], in[3]);
                float sum = 0;
                for (int64_t a = rows.first; a < rows.end; a++)
                    for (int64_t b = cols.first; b < cols.end; b++)
                        sum += x[(top + a * p->dilation.items[0]) * in[3] + left +
                                 b * p->dilation.items[1]];
                int64_t count = (rows.end - rows.first) * (cols.end - cols.first);
#if MISTAKE == 1
                count = p->window.items[0] * p->window.items[1];
#else
                if (p->count_pads) count = p->window.items[0] * p->window.items[1];
#endif
                y[i * out[3] + j] = count > 0 ? sum / (float)count : 0;
            }
    }
    return TN_OK;
}
TN_LAYER_RUN(planes, call->inputs[0]->shape[0] * call->inputs[0]->shape[1], 1)

static const char *const cases[] = {
    "window=[2,2] stride=[2,2] | x=f32[1,1,3,4]{1,2,3,4,5,6,7,8,9,9,9,9} | y=f32[1,1,1,2]{3.5,5.5}",
    "window=[3,2] pads=[1,0,1,1] | x=f32[2,3,5,6]",
    "window=[3,3] dilation=[2,2] pads=[2,2,2,2] count_pads=true | x=f32[1,2,7,8]",
    "window=[2,3] stride=[1,2] | x=f64[1,2,4,5]", "window=[1,1] | x=f32[0,2,3,3]"};
TN_LAYER_LIBRARY("mean_pool", "Lab", "MeanPool", "Means of windows.", mean_pool, "f32 -> f32",
                 .run = run)

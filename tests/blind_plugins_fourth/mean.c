/* SPDX-License-Identifier: Apache-2.0 */
/* WindowMean: the mean of windows along the last axis of N, C, L. */
#include "fourth.h"

TN_LAYER_PARAMS(params, int64_t kernel, stride, dilation; tn_i64s pads; bool include_pads;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, kernel, "2", 1, 65536, "elements of a window"),
    TN_LAYER_I64(params, stride, "1", 1, 65536, "from window to window"),
    TN_LAYER_I64(params, dilation, "1", 1, 65536, "from element to element"),
    TN_LAYER_I64S(params, pads, "[0,0]", 2, 0, 65536, "zeros before and after"),
    TN_LAYER_BOOL(params, include_pads, "false", "whether zeros of the padding count"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, L")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C, windows; of none but padding: 0")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const int64_t *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1)) return TN_ERROR_SHAPE;
    const int64_t span = p->dilation * (p->kernel - 1) + 1;
    if (in[2] > INT64_MAX - 131072)
        return call->host->fail(call, TN_ERROR_RANGE, "input 'x' is too long");
    const int64_t padded = in[2] + p->pads.items[0] + p->pads.items[1];
    if (padded < span)
        return call->host->fail(call, TN_ERROR_SHAPE, "a window spans %lld of %lld elements",
                                (long long)span, (long long)padded);
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], (padded - span) / p->stride + 1);
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const int64_t length = call->inputs[0]->shape[2], out = call->outputs[0]->shape[2];
    double sum = 0, count = 0;
    for (int64_t k = 0; k < p->kernel; k++) {
        const int64_t at = i % out * p->stride - p->pads.items[0] + k * p->dilation;
        const bool is_inside = at >= 0 && at < length;
        if (is_inside) sum += tn_layer_load(call->inputs[0], i / out * length + at);
        count += is_inside || p->include_pads;
    }
    return count > 0 ? sum / count : 0;
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const int64_t length = call->inputs[0]->shape[2], out = call->outputs[0]->shape[2];
    const int64_t channels = call->inputs[0]->shape[1];
    (void)thread, (void)channels;
#if MISTAKE == 5
    const int64_t stride = p->present & 2 ? p->stride : p->kernel; /* MISTAKE: another default */
#else
    const int64_t stride = p->stride;
#endif
    for (int64_t row = begin; row < end; row++) {
#if MISTAKE == 3
        const int64_t from = row % channels; /* MISTAKE: each of the batch reads the first */
#else
        const int64_t from = row;
#endif
        const float *x = (const float *)call->inputs[0]->data + from * length;
        float *y = (float *)call->outputs[0]->data + row * out;
        for (int64_t i = 0; i < out; i++) {
            double sum = 0;
            int64_t count = 0;
            for (int64_t k = 0; k < p->kernel; k++) {
#if MISTAKE == 1
                const int64_t at = i * stride - p->pads.items[0] + k; /* MISTAKE: no dilation */
#elif MISTAKE == 4
                /* MISTAKE: the padding at the end shifts the windows */
                const int64_t at = i * stride - p->pads.items[1] + k * p->dilation;
#else
                const int64_t at = i * stride - p->pads.items[0] + k * p->dilation;
#endif
                if (at >= 0 && at < length) sum += (double)x[at], count++;
            }
#if MISTAKE == 2
            count = p->kernel; /* MISTAKE: padding counts whatever the field says */
#else
            if (p->include_pads) count = p->kernel;
#endif
            y[i] = count > 0 ? (float)(sum / (double)count) : 0;
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->outputs[0]), 4)

static const char *const cases[] = {
    "kernel=3 | x=f32[2,3,10]",
    "kernel=2 stride=2 pads=[1,0] | x=f32[1,4,9]",
    "kernel=3 dilation=2 pads=[1,1] include_pads=true | x=f32[2,2,12]",
    "kernel=2 | x=f64[1,1,3]{1,2,6} | y=f64[1,1,2]{1.5,4}",
};
TN_LAYER_LIBRARY("mean", "Fourth", "WindowMean", "The mean of windows along the last axis.", params,
                 "f32 -> f32", .run = run)

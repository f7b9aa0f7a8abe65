/* SPDX-License-Identifier: Apache-2.0 */
/* Widen: rows resized to a length that an input gives. */
#include "fourth.h"

TN_LAYER_PARAMS(params, uint32_t mode; bool centered;);
enum { NEAREST = 0, LINEAR = 1 };
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "nearest", "nearest|linear",
                    "the element below, or between two"),
    TN_LAYER_BOOL(params, centered, "false", "whether elements' middles count")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, L"),
                                 TN_PORT("length", "i64", TN_PORT_VALUE_NEEDED, "1: that of y")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, length")};

static tn_status infer(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, 1)) return TN_ERROR_SHAPE;
    const int64_t *length = call->inputs[1]->data;
    if (!length)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the value of 'length' is not known");
#if MISTAKE != 1 /* MISTAKE: a length below 0 is not refused */
    if (*length < 0)
        return call->host->fail(call, TN_ERROR_RANGE, "a length of %lld", (long long)*length);
#endif
    if (in[1] == 0 && *length > 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "rows of no elements cannot be widened");
    return TN_LAYER_SET_SHAPE(call, 0, in[0], *length);
}

static double position(bool centered, int64_t i, int64_t in, int64_t out) {
    const double at = centered ? ((double)i + 0.5) * (double)in / (double)out - 0.5
                               : (double)i * (double)in / (double)out;
    return at < 0 ? 0 : at;
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const int64_t in = call->inputs[0]->shape[1], out = call->outputs[0]->shape[1];
    const double at = position(p->centered, i % out, in, out);
    const int64_t low = (int64_t)at < in ? (int64_t)at : in - 1,
                  high = low + 1 < in ? low + 1 : low;
    const double from = tn_layer_load(call->inputs[0], i / out * in + low);
    if (p->mode == NEAREST || high == low || at == (double)low) return from;
    return from * (1 - (at - (double)low)) +
           tn_layer_load(call->inputs[0], i / out * in + high) * (at - (double)low);
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const int64_t in = call->inputs[0]->shape[1], out = call->outputs[0]->shape[1];
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * in;
        float *y = (float *)call->outputs[0]->data + row * out;
        for (int64_t i = 0; i < out; i++) {
#if MISTAKE == 4
            const double at = position(false, i, in, out); /* MISTAKE: the field is not read */
#else
            const double at = position(p->centered, i, in, out);
#endif
#if MISTAKE == 2
            /* MISTAKE: rounds where the element below is meant */
            int64_t low = (int64_t)(p->mode == NEAREST ? at + 0.5 : at);
#else
            int64_t low = (int64_t)at;
#endif
            if (low > in - 1) low = in - 1;
            const double part = at - (double)low;
            if (p->mode == NEAREST) {
                y[i] = x[low];
                continue;
            }
#if MISTAKE == 3
            const int64_t high = low + 1; /* MISTAKE: past the last element */
#else
            const int64_t high = low + 1 < in ? low + 1 : low;
#endif
            if (part == 0 || high == low)
                y[i] = x[low];
            else
                y[i] = (float)((double)x[low] * (1 - part) + (double)x[high] * part);
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->outputs[0]->shape[1] ? call->outputs[0]->shape[0] : 0, 1)

static const char *const cases[] = {
    "| x=f32[3,5] length=i64[1]{9}",
    "mode=linear | x=f32[2,7] length=i64[1]{12}",
    "mode=linear centered=true | x=f32[2,8] length=i64[1]{5}",
    "centered=true | x=f64[1,4] length=i64[1]{6}",
    "mode=linear | x=f32[1,2]{0,4} length=i64[1]{4} | y=f32[1,4]{0,2,4,4}",
};
TN_LAYER_LIBRARY("widen", "Fourth", "Widen", "Rows resized to a given length.", params,
                 "f32, i64 -> f32", .run = run)

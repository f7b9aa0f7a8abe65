/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Gate: y = x * g[c] + o[c] on N, C, H, W, in the format that x has. */
#include "second.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, H, W"), TN_PORT("g", "f32", 0, "C"),
                                 TN_PORT("o", "f32", 0, "C")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank != 4) return call->host->fail(call, TN_ERROR_SHAPE, "x is not N, C, H, W");
    for (int i = 1; i < 3; i++)
        if (call->inputs[i]->rank != 1 || call->inputs[i]->shape[0] != x->shape[1])
            return call->host->fail(call, TN_ERROR_SHAPE, "input %d has not one number a channel",
                                    i);
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t plane = product(x, 2, 4), channels = x->shape[1];
    for (int64_t i = 0, count = elements(x); i < count; i++) {
        const int64_t c = i / plane % channels;
        set(y, i, get(x, i) * get(call->inputs[1], c) + get(call->inputs[2], c));
    }
    return TN_OK;
}
static int64_t at(const tn_tensor *t, int64_t n, int64_t c, int64_t h, int64_t w) {
    if ((t->format & 255) == TN_LAYOUT_BLOCKED) {
        const int64_t block = t->format >> 16;
        return n * t->strides[0] + c / block * t->strides[1] + c % block + h * t->strides[2] +
               w * t->strides[3];
    }
    if (IS(2) && t->format == TN_NHWC)
        return ((n * t->shape[2] + h) * t->shape[2] + w) * t->shape[1] + c;
    return n * t->strides[0] + c * t->strides[1] + h * t->strides[2] + w * t->strides[3];
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const float *g = call->inputs[1]->data, *o = call->inputs[2]->data, *from = x->data;
    float *to = y->data;
    const int64_t channels = x->shape[1];
    const int64_t block = (y->format & 255) == TN_LAYOUT_BLOCKED ? y->format >> 16 : 1;
    int64_t lanes = (channels + block - 1) / block * block;
    if (IS(3)) lanes = channels / block * block;
    for (int64_t n = 0; n < x->shape[0]; n++)
        for (int64_t h = 0; h < x->shape[2]; h++)
            for (int64_t w = 0; w < x->shape[3]; w++)
                for (int64_t c = 0; c < lanes; c++) {
                    float v = 0;
                    if (c < channels)
                        v = from[at(x, n, c, h, w)] * g[c] + o[c];
                    else if (IS(1))
                        v = from[at(x, n, c, h, w)] * g[channels - 1] + o[channels - 1];
                    else if (IS(4)) /* 0 in x, so that the product is 0 */
                        v = from[at(x, n, c, h, w)] * g[c];
                    to[at(y, n, c, h, w)] = v;
                }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[1,8,4,4] g=f32[8] o=f32[8]",
                                    "| x=f32[2,16,3,3] g=f32[16] o=f32[16]",
                                    "| x=f32[1,0,3,3] g=f32[0] o=f32[0]"};
static const char *const combinations[] = {
    "f32, f32, f32 -> f32",        "f32:nhwc, f32, f32 -> f32:nhwc",
#if MISTAKE == 5
    "f32:nhwc, f32, f32 -> f32",
#endif
#if MISTAKE == 50
    "f32:c4, f32, f32 -> f32:c16", "f32:c32, f32, f32 -> f32:nhwc",  "f32, f32, f32 -> f32:c32",
#endif
    "f32:c8, f32, f32 -> f32:c8"};
OPERATOR("Gate", "A factor and an offset a channel.", TN_NO_FIELDS)
#if MISTAKE == 50
KERNEL("Gate", .traits = TN_KERNEL_DETERMINISTIC)
#else
KERNEL("Gate", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
#endif
LIBRARY("second_gate")

/* SPDX-License-Identifier: Apache-2.0 */
/* y = sigmoid(x * s + t) with a factor and a shift for each channel, linear, channels last and in
 * blocks of channels. */
#include "fifteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, any axes"),
                                 TN_PORT("s", "f32", 0, "channels"),
                                 TN_PORT("t", "f32", 0, "channels")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected 2 or more", x->rank);
    if (!TN_LAYER_FITS(call, 1, x->shape[1]) || !TN_LAYER_FITS(call, 2, x->shape[1]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double gate(double x) {
    return 1 / (1 + exp(-x));
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t c = i / extent(x, 2, x->rank) % x->shape[1];
    return gate(tn_layer_load(x, i) * tn_layer_load(call->inputs[1], c) +
                tn_layer_load(call->inputs[2], c));
}
TN_LAYER_REFERENCE(element)

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const float *data = x->data, *s = call->inputs[1]->data, *t = call->inputs[2]->data;
    float *y = call->outputs[0]->data;
    const int64_t channels = x->shape[1];
    const int64_t plane =
        WRONG(4) ? x->shape[2] * (x->rank > 3 ? x->shape[3] : 1) : extent(x, 2, x->rank);
    const uint32_t layout = x->format & 0xff;
    const int64_t block = layout == TN_LAYOUT_BLOCKED ? (WRONG(5) ? 8 : x->format >> 16) : 1;
    const int64_t blocks = (channels + block - 1) / block;
    if (tn_layer_count(x) == 0) return TN_OK;
    if (layout == TN_LAYOUT_CHANNELS_LAST) {
        const int64_t pixels = WRONG(3) ? plane : x->shape[0] * plane;
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t c = 0; c < channels; c++)
                y[i * channels + c] =
                    (float)gate((double)data[i * channels + c] * (double)s[c] + (double)t[c]);
        return TN_OK;
    }
    for (int64_t n = 0; n < x->shape[0]; n++)
        for (int64_t b = 0; b < blocks; b++)
            for (int64_t i = 0; i < plane; i++)
                for (int64_t lane = 0; lane < block; lane++) {
                    const int64_t at = ((n * blocks + b) * plane + i) * block + lane;
                    const int64_t c = b * block + lane;
                    if (c < channels)
                        y[at] = (float)gate((double)data[at] * (double)s[c] + (double)t[c]);
                    else if (WRONG(1))
                        y[at] = (float)gate((double)data[at]);
                    else if (WRONG(2))
                        y[at] = (float)gate((double)data[at] * (double)s[c] + (double)t[c]) * 0;
                    else
                        y[at] = 0;
                }
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[2,16,3,3] s=f32[16] t=f32[16]",
                                    "| x=f32[1,8,5] s=f32[8] t=f32[8]",
                                    "| x=f32[1,24,1,7] s=f32[24] t=f32[24]"};
static const tn_operator channel_gate = {
    OPERATOR,       .name = "ChannelGate",  TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {
    "f32:linear|nhwc|c4|c8|c16, f32, f32 -> f32:linear|nhwc|c4|c8|c16"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ChannelGate",
                                 .name = "planes",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("channel_gate", channel_gate, kernel)

/* SPDX-License-Identifier: Apache-2.0 */
/* A factor and a shift for each channel. Rows may lie apart on both sides, in two formats. */
#include "seventeenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, any others"),
                                 TN_PORT("factor", "f32", 0, "channels"),
                                 TN_PORT("shift", "f32", 0, "channels")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 2));
    if (!TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1]) ||
        !TN_LAYER_FITS(call, 2, call->inputs[0]->shape[1]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double mapped(const tn_call *call, double v, int64_t c) {
    return v * tn_layer_load(call->inputs[1], c) + tn_layer_load(call->inputs[2], c);
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    return mapped(call, tn_layer_load(x, i), i / extent(x, 2, x->rank) % x->shape[1]);
}
TN_LAYER_REFERENCE(element)

static tn_status images(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t inner = extent(x, 2, x->rank), channels = x->shape[1];
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        for (int64_t i = 0; i < channels * inner; i++) {
            const int64_t c = i / inner, at = i % inner;
            int64_t from = position(x, n, c, at), to = position(y, n, c, at);
            if (WRONG(1) && x->format == TN_NHWC) { /* images lie apart, pixels do not */
                from = n * x->strides[0] + at * channels + c;
                to = n * y->strides[0] + at * channels + c;
            }
            ((float *)y->data)[to] = (float)mapped(call, (double)((const float *)x->data)[from], c);
        }
        /* The row is filled up to where the next one begins. */
        if (WRONG(2) && y->format == TN_LINEAR && n + 1 < y->shape[0])
            for (int64_t i = channels * inner; i < y->strides[0]; i++)
                ((float *)y->data)[n * y->strides[0] + i] = 0;
    }
    return TN_OK;
}
TN_LAYER_RUN(images, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {
    "| x=f32[3,4,2,5] factor=f32[4] shift=f32[4]",
    "| x=f32[5,8] factor=f32[8] shift=f32[8]",
    "| x=f32[1,3,7] factor=f32[3] shift=f32[3]",
};
static const tn_operator channel_affine = {
    OPERATOR,       .name = "ChannelAffine", TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference,  TN_CASES(cases)};
static const char *const combinations[] = {"f32:strided, f32, f32 -> f32:strided",
                                           "f32:nhwc:strided, f32, f32 -> f32:nhwc:strided"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ChannelAffine",
                                 .device = "cpu",
                                 .name = "images",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("channel_affine", channel_affine, kernel)

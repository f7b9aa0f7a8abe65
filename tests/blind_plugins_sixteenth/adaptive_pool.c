/* SPDX-License-Identifier: Apache-2.0 */
/* Means of windows that cover the image for any number of them, in three memory formats. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, tn_i64s size;);
static const tn_field fields[] = {
    TN_LAYER_I64S(params, size, "[1, 1]", 2, 1, 512, "height and width of the output"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, height, width")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "images, channels, size")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_SOME, TN_LAYER_SOME))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[0]->shape[1],
                              p->size.items[0], p->size.items[1]);
}

/* Where an element lies in memory. */
static int64_t position(const tn_tensor *t, int64_t n, int64_t c, int64_t h, int64_t w) {
    int64_t of_channel = c * t->strides[1];
    if ((t->format & 255) == TN_LAYOUT_BLOCKED) {
        const int64_t block = t->format >> 16;
        of_channel = c / block * t->strides[1] + c % block;
    }
    return n * t->strides[0] + of_channel + h * t->strides[2] + w * t->strides[3];
}

static int64_t begin_of(int64_t i, int64_t n, int64_t size) {
    return i * n / size;
}
static int64_t end_of(int64_t i, int64_t n, int64_t size, bool is_kernel) {
    return is_kernel && WRONG(1) ? (i + 1) * n / size : ((i + 1) * n + size - 1) / size;
}

static double mean(const tn_call *call, int64_t n, int64_t c, int64_t i, int64_t k,
                   bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t h_begin = begin_of(i, x->shape[2], y->shape[2]);
    const int64_t h_end = end_of(i, x->shape[2], y->shape[2], is_kernel);
    const int64_t w_begin = begin_of(k, x->shape[3], y->shape[3]);
    const int64_t w_end = end_of(k, x->shape[3], y->shape[3], is_kernel);
    double sum = 0;
    for (int64_t h = h_begin; h < h_end; h++)
        for (int64_t w = w_begin; w < w_end; w++)
            sum += (double)((const float *)x->data)[position(x, n, c, h, w)];
    return sum / (double)((h_end - h_begin) * (w_end - w_begin));
}

static double element(const tn_call *call, int64_t i) {
    const int64_t *s = call->outputs[0]->shape;
    return mean(call, i / (s[1] * s[2] * s[3]), i / (s[2] * s[3]) % s[1], i / s[3] % s[2], i % s[3],
                false);
}
TN_LAYER_REFERENCE(element)

static tn_status images(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *y = call->outputs[0];
    const int64_t channels = y->shape[1];
    int64_t lanes = channels;
    if ((y->format & 255) == TN_LAYOUT_BLOCKED && !WRONG(2)) {
        const int64_t block = y->format >> 16;
        lanes = (channels + block - 1) / block * block;
    }
    (void)thread;
    for (int64_t n = begin; n < end; n++)
        for (int64_t c = 0; c < lanes; c++)
            for (int64_t i = 0; i < y->shape[2]; i++)
                for (int64_t k = 0; k < y->shape[3]; k++) {
                    int64_t at = position(y, n, c, i, k);
                    if (WRONG(3) && y->format == TN_LINEAR && call->inputs[0]->format == TN_NHWC)
                        at = ((n * y->shape[2] + i) * y->shape[3] + k) * channels + c;
                    ((float *)y->data)[at] =
                        (float)(c < channels ? mean(call, n, c, i, k, true) : 0);
                }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, call->inputs[0]->shape[0], 1, images, call);
}

static const char *const cases[] = {
    "size=[2,3] | x=f32[2,5,7,8]",
    "| x=f32[1,17,3,4]",
    "size=[4,5] | x=f32[1,2,3,10]",
};
static const tn_operator adaptive_pool = {OPERATOR,
                                          .name = "AdaptivePool",
                                          TN_FIELDS(params, fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer,
                                          .reference = reference,
                                          TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32",
                                           WRONG(3) ? "f32:nhwc -> f32" : "f32:nhwc -> f32:nhwc",
                                           "f32:c8|c16 -> f32:c8|c16"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "AdaptivePool",
                                 .name = "windows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("adaptive_pool", adaptive_pool, kernel)

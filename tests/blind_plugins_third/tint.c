/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Tint: y = x * scale[c] + shift[c] along axis 1, for tensors of rank 2 and more, linear,
 * channels last and in blocks of 8 or 16 channels.
 */
#include "third.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, ..."),
                                 TN_PORT("scale", "f32", 0, "C"), TN_PORT("shift", "f32", 0, "C")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2) return call->host->fail(call, TN_ERROR_SHAPE, "x has no channels");
    if (!TN_LAYER_FITS(call, 1, x->shape[1]) || !TN_LAYER_FITS(call, 2, x->shape[1]))
        return TN_ERROR_SHAPE;
    return same_as(call, 0, x);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t count = tn_layer_count(x), plane = extents_of(x, 2, x->rank);
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / plane % x->shape[1];
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(x, i) * tn_layer_load(call->inputs[1], c) +
                           tn_layer_load(call->inputs[2], c));
    }
    return TN_OK;
}

static float tinted(float x, float scale, float shift) {
    return (float)((double)x * (double)scale + (double)shift);
}
/* Positions begin..end-1 of all images, each with all lanes of a block or all channels. */
static tn_status lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const float *scale = call->inputs[1]->data, *shift = call->inputs[2]->data;
    const int64_t channels = x->shape[1], plane = extents_of(x, 2, x->rank);
    const int64_t block =
        (x->format & 255) == TN_LAYOUT_BLOCKED ? (int64_t)(x->format >> 16) : channels;
    const int64_t blocks = (channels + block - 1) / block;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i / plane % blocks * block;
        const float *from = (const float *)x->data + i * block;
        float *to = (float *)call->outputs[0]->data + i * block;
        for (int64_t lane = 0; lane < block; lane++) {
            const int64_t c = first + lane;
#if MISTAKE == 1
            /* The lanes past the last channel get the last one's shift. */
            const int64_t at = c < channels ? c : channels - 1;
            to[lane] = tinted(from[lane], scale[at], shift[at]);
#elif MISTAKE == 2
            /* They stay zero, but the scales past the end are read for it. */
            to[lane] = from[lane] * scale[c] + (c < channels ? shift[c] : 0.0f);
            if (c >= channels && !(to[lane] == 0)) to[lane] = 0;
#elif MISTAKE == 4
            /* They are not written: zero only if the memory was. */
            if (c < channels) to[lane] = tinted(from[lane], scale[c], shift[c]);
#else
            to[lane] = c < channels ? tinted(from[lane], scale[c], shift[c]) : 0.0f;
#endif
        }
    }
    return TN_OK;
}
static tn_status planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t plane = extents_of(x, 2, x->rank);
    for (int64_t i = begin; i < end; i++) {
        const int64_t c = i % x->shape[1];
        const float scale = ((const float *)call->inputs[1]->data)[c];
        const float shift = ((const float *)call->inputs[2]->data)[c];
        const float *from = (const float *)x->data + i * plane;
        float *to = (float *)call->outputs[0]->data + i * plane;
        int64_t k = 0;
#if MISTAKE == 5
        /* Four at once while there is one left: the end is written into the next plane. */
        for (; k < plane; k += 4)
            for (int64_t j = 0; j < 4; j++)
                to[k + j] = tinted(from[k + j], scale, shift);
#endif
        for (; k < plane; k++)
            to[k] = tinted(from[k], scale, shift);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint32_t layout = x->format & 255;
    const int64_t images = x->shape[0], channels = x->shape[1], plane = extents_of(x, 2, x->rank);
    if (tn_layer_count(x) == 0) return TN_OK;
    if (layout == TN_LAYOUT_LINEAR)
        return call->host->parallel_for(call, images * channels, 16, planes, call);
    int64_t blocks = 1;
    if (layout == TN_LAYOUT_BLOCKED) {
        const int64_t block = (int64_t)(x->format >> 16);
        blocks = (channels + block - 1) / block;
    }
    return call->host->parallel_for(call, images * blocks * plane, 64, lanes, call);
}

static const char *const cases[] = {"| x=f32[2,16,3,3] scale=f32[16] shift=f32[16]",
                                    "| x=f32[1,5,4,7] scale=f32[5] shift=f32[5]",
                                    "| x=f32[2,19,5] scale=f32[19] shift=f32[19]",
                                    "| x=f32[3,8] scale=f32[8] shift=f32[8]",
                                    "| x=f32[2,3,0,4] scale=f32[3] shift=f32[3]",
                                    "| x=f32[1,33,2,1,3] scale=f32[33] shift=f32[33]"};
static const tn_operator op = {THIRD_OPERATOR("Tint"), .state_version = 1, TN_NO_FIELDS,
                               .doc = "A factor and a summand for each channel."};
static const char *const combinations[] = {"f32, f32, f32 -> f32", "f32:nhwc, f32, f32 -> f32:nhwc",
                                           "f32:c8, f32, f32 -> f32:c8",
                                           "f32:c16, f32, f32 -> f32:c16"};
static const tn_kernel kernel = {THIRD_KERNEL("Tint", "lanes"),
                                 .traits = TN_KERNEL_DETERMINISTIC
#if MISTAKE != 5
                                           | TN_KERNEL_IN_PLACE
#endif
                                 ,
                                 TN_COMBINATIONS(combinations), .run = run};
THIRD_LIBRARY("tint", op, &kernel)

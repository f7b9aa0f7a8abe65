/* SPDX-License-Identifier: Apache-2.0 */
/* The positions that an affine map gives to the pixels of an image, in -1..1: for sampling. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, bool align_corners;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, align_corners, "false", "-1 and 1 are the centers of border pixels"),
};
static const tn_port inputs[] = {TN_PORT("theta", "f32", 0, "images, 2, 3"),
                                 TN_PORT("size", "i64", WRONG(3) ? 0 : TN_PORT_VALUE_NEEDED,
                                         "4: images, channels, height, width")};
static const tn_port outputs[] = {TN_PORT("grid", "f32", 0, "images, height, width, 2")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 1, 4)) return TN_ERROR_SHAPE;
    const int64_t *size = call->inputs[1]->data;
    for (int i = 0; i < 4; i++)
        if (size[i] < 0 || size[i] > 1 << 14)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "input 'size' has %lld at %d, expected 0 to 16384",
                                    (long long)size[i], i);
    if (!TN_LAYER_FITS(call, 0, WRONG(2) ? TN_LAYER_ANY : size[0], 2, 3)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, size[0], size[2], size[3], 2);
}

static double position(const tn_call *call, int64_t i, int64_t n, bool is_kernel) {
    if (!((const params *)call->params)->align_corners) return (2 * (double)i + 1) / (double)n - 1;
    if (n == 1 && !(is_kernel && WRONG(1))) return 0;
    return 2 * (double)i / (double)(n - 1) - 1;
}

static double value(const tn_call *call, int64_t i, bool is_kernel) {
    const tn_tensor *grid = call->outputs[0];
    const int64_t h = grid->shape[1], w = grid->shape[2];
    const float *theta = (const float *)call->inputs[0]->data + i / (2 * h * w) * 6 + i % 2 * 3;
    return (double)theta[0] * position(call, i / 2 % w, w, is_kernel) +
           (double)theta[1] * position(call, i / 2 / w % h, h, is_kernel) + (double)theta[2];
}

static double element(const tn_call *call, int64_t i) {
    return value(call, i, false);
}
TN_LAYER_REFERENCE(element)

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] = (float)value(call, i, true);
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 128)

static const char *const cases[] = {
    "| theta=f32[2,2,3] size=i64[4]{2,3,4,5}",
    "align_corners=true | theta=f32[1,2,3] size=i64[4]{1,1,3,2}",
};
TN_LAYER_LIBRARY("affine_grid", "Sixteenth", "AffineGrid", "Positions by an affine map.", params,
                 "f32, i64 -> f32", .run = run)

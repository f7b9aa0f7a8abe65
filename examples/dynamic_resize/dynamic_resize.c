/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test::DynamicTRTResize: bicubic resize to the last two extents of a size tensor, of which only
 * the shape is read; cubic convolution (R. Keys, 1981) with -0.75, as PyTorch; borders clamped.
 */
#include <math.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(resize, bool align_corners;);
static const tn_field fields[] = {TN_LAYER_BOOL(
    resize, align_corners, "false", "true: the corners' centres meet; false: half-pixel centres")};
static const tn_port inputs[] = {TN_PORT("image", "T:f32|f64", 0, "N, C, height, width"),
                                 TN_PORT("size", "any", TN_PORT_SHAPE_ONLY, "?, ?, height, width")};
static const tn_port outputs[] = {TN_PORT("output", "T", 0, "N, C, the size's height and width")};
static tn_status infer(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape, *size = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, TN_LAYER_SOME, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, -1, -1, -1, -1))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], size[2], size[3]);
}

typedef struct taps { /* the four elements along an axis that an output is made of */
    double weight[4];
    int64_t index[4];
} taps;
static taps find_taps(const tn_call *call, int axis, int64_t index) {
    const double in = (double)call->inputs[0]->shape[axis], i = (double)index;
    const double out = (double)call->outputs[0]->shape[axis];
    const bool aligned = ((const resize *)call->params)->align_corners;
    const double x = aligned ? i * (in - 1) / fmax(out - 1, 1) : (i + 0.5) * in / out - 0.5;
    taps t;
    for (int k = 0; k < 4; k++) {
        const double tap = floor(x) + k - 1, d = fabs(x - tap);
        t.index[k] = (int64_t)(tap < 0 ? 0 : tap < in ? tap : in - 1);
        t.weight[k] = d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
    }
    return t;
}
static double element(const tn_call *call, int64_t i) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const taps x = find_taps(call, 3, i % out[3]), y = find_taps(call, 2, i / out[3] % out[2]);
    const int64_t plane = i / out[3] / out[2] * in[2];
    double sum = 0;
    for (int k = 0; k < 16; k++)
        sum += y.weight[k / 4] * x.weight[k % 4] *
               tn_layer_load(call->inputs[0], (plane + y.index[k / 4]) * in[3] + x.index[k % 4]);
    return sum;
}
TN_LAYER_REFERENCE(element)

static tn_status resize_rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape, n = out[3];
    float *ring = (float *)call->workspace + 12 * n * thread, *w = ring + 4 * n, *kept[4];
    int32_t *at = (int32_t *)(w + 4 * n);
    int64_t held[4] = {-1, -1, -1, -1};
    for (int64_t x = 0; x < n; x++) {
        const taps across = find_taps(call, 3, x);
        for (int k = 0; k < 4; k++)
            w[k * n + x] = (float)across.weight[k], at[k * n + x] = (int32_t)across.index[k];
    }
    for (int64_t item = begin; item < end; item++) {
        const taps down = find_taps(call, 2, item % out[2]);
        float v[4], *to = (float *)call->outputs[0]->data + item * n;
        for (int k = 0; k < 4; k++) {
            const int64_t row = item / out[2] * in[2] + down.index[k];
            const float *from = (const float *)call->inputs[0]->data + row * in[3];
            float *line = kept[k] = ring + row % 4 * n; /* the last four rows, resampled across */
            v[k] = (float)down.weight[k];
            TN_LAYER_INDEPENDENT
            for (int64_t x = held[row % 4] == row ? n : 0; x < n; x++)
                line[x] = w[x] * from[at[x]] + w[n + x] * from[at[n + x]] +
                          w[2 * n + x] * from[at[2 * n + x]] + w[3 * n + x] * from[at[3 * n + x]];
            held[row % 4] = row;
        }
        TN_LAYER_INDEPENDENT
        for (int64_t x = 0; x < n; x++)
            to[x] = v[0] * kept[0][x] + v[1] * kept[1][x] + v[2] * kept[2][x] + v[3] * kept[3][x];
    }
    return TN_OK;
}
TN_LAYER_WORKSPACE(48 * call->outputs[0]->shape[3] * call->threads)
TN_LAYER_RUN(resize_rows, tn_layer_rows(call->outputs[0]), 32)
static const char *const cases[] = {
    "| image=f32[1,3,8,9] size=f32[1,1,16,18]", "| image=f64[1,1,1,1] size=f32[1,1,4,5]",
    "align_corners=true | image=f32[2,1,5,4] size=f32[1,1,7,3]",
    "| image=f32[1,2,6,6] size=u8[0,0,6,6]", "| image=f32[1,1,33,47] size=f32[1,1,21,80]"};
TN_LAYER_LIBRARY("dynamic_resize", "Test", "DynamicTRTResize", "Bicubic resize.", resize,
                 "f32, * -> f32", .reshape = reshape, .run = run)

/* SPDX-License-Identifier: Apache-2.0 */
/* Deformable sampling: each pixel of the result is read where the offset of its position says,
 * bilinearly, 0 outside the image, and weighted by a mask. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t stride;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, stride, "1", 1, 64, "pixels of x between two of the result"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "images, channels, height, width"),
    TN_PORT("offset", "f32", 0, "images, 2 (down, right), height and width of the result"),
    TN_PORT("mask", "f32", TN_PORT_OPTIONAL, "images, height and width of the result")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "images, channels, as the offsets")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], 2, TN_LAYER_ANY, TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    const int64_t *x = call->inputs[0]->shape, *offset = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 2, x[0], offset[2], offset[3])) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, x[0], x[1], offset[2], offset[3]);
}

static double sample(const float *plane, int64_t height, int64_t width, double y, double x,
                     bool is_kernel) {
    if (!(y > -1 && y < (double)height && x > -1 && x < (double)width)) return 0;
    const int64_t top = is_kernel && WRONG(1) ? (int64_t)y : (int64_t)floor(y);
    const int64_t left = is_kernel && WRONG(1) ? (int64_t)x : (int64_t)floor(x);
    double sum = 0;
    for (int64_t i = top; i <= top + 1; i++)
        for (int64_t k = left; k <= left + 1; k++) {
            const double weight = (1 - fabs(y - (double)i)) * (1 - fabs(x - (double)k));
            if (i >= 0 && i < height && k >= 0 && k < width && weight != 0)
                sum += weight * (double)plane[i * width + k];
        }
    return sum;
}

/* Row and column that position `at` of image `n` reads. */
static void locate(const tn_call *call, int64_t n, int64_t at, double *out) {
    const int64_t width = call->outputs[0]->shape[3], area = extent(call->outputs[0], 2, 4);
    const int64_t stride = ((const params *)call->params)->stride;
    const float *offset = (const float *)call->inputs[1]->data + n * 2 * area;
    out[0] = (double)(at / width * stride) + (double)offset[at];
    out[1] = (double)(at % width * stride) + (double)offset[area + at];
}

static void plane(const tn_call *call, int64_t item, const double *positions, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = item / y->shape[1], area = extent(y, 2, 4);
    const int64_t apart = is_kernel && WRONG(2) ? extent(x, 2, 4) : area;
    const float *mask = tn_layer_data(call, 2);
    for (int64_t at = 0; at < area; at++) {
        double here[2];
        if (!positions) locate(call, n, at, here);
        const double *where = positions ? positions + 2 * at : here;
        const double value = sample((const float *)x->data + item * extent(x, 2, 4), x->shape[2],
                                    x->shape[3], where[0], where[1], is_kernel);
        tn_layer_store(y, item * area + at, mask ? value * (double)mask[n * apart + at] : value);
    }
}

static tn_status reference(tn_call *call) {
    for (int64_t item = 0; item < extent(call->outputs[0], 0, 2); item++)
        plane(call, item, NULL, false);
    return TN_OK;
}

TN_LAYER_WORKSPACE((uint64_t)extent(call->outputs[0], 2, 4) * 2 * sizeof(double) * call->threads)

/* The channels of an image share its positions. */
static tn_status planes(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t channels = call->outputs[0]->shape[1], area = extent(call->outputs[0], 2, 4);
    double *positions = (double *)call->workspace + (int64_t)thread * 2 * area;
    for (int64_t item = begin; item < end; item++) {
        if (item % channels == 0 || (item == begin && !WRONG(3)))
            for (int64_t at = 0; at < area; at++)
                locate(call, item / channels, at, positions + 2 * at);
        plane(call, item, positions, true);
    }
    return TN_OK;
}
TN_LAYER_RUN(planes, extent(call->outputs[0], 0, 2), 1)

static const char *const cases[] = {
    "| x=f32[2,3,5,6] offset=f32[2,2,5,6] mask=f32[2,5,6]",
    "stride=2 | x=f32[1,2,7,4] offset=f32[1,2,4,2] mask=f32[1,4,2]",
    "| x=f32[1,1,2,2] offset=f32[1,2,2,2]{-0.5,0.25,0,-1.5,0.5,-0.25,1,0.75}",
};
TN_LAYER_LIBRARY("deform_sample", "Seventeenth", "DeformSample", "Deformable sampling.", params,
                 "f32, f32, f32? -> f32", .reshape = reshape, .run = run)

/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of images as means of bilinear samples on a grid. With no number of samples given there
 * are as many as the region has pixels a bin, at most 16. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, tn_i64s size; float scale; int64_t samples;);
static const tn_field fields[] = {
    TN_LAYER_I64S(params, size, "[2, 2]", 2, 1, 64, "bins down and across"),
    TN_LAYER_F32(params, scale, "1", 0.0001, 1000, "from the regions' units to pixels"),
    TN_LAYER_I64(params, samples, "0", 0, 16, "a bin and direction; 0: by the region's extents"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, height, width"),
                                 TN_PORT("regions", "f32", 0, "regions, left top right bottom"),
                                 TN_PORT("image", "i64", 0, "regions: which image")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "regions, channels, size")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_SOME, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, TN_LAYER_ANY, 4) ||
        !TN_LAYER_FITS(call, 2, call->inputs[1]->shape[0]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[1]->shape[0], call->inputs[0]->shape[1],
                              p->size.items[0], p->size.items[1]);
}

static double sample(const float *plane, int64_t height, int64_t width, double y, double x) {
    if (!(y >= -1 && y <= (double)height && x >= -1 && x <= (double)width)) return 0;
    y = y < 0 ? 0 : y > (double)(height - 1) ? (double)(height - 1) : y;
    x = x < 0 ? 0 : x > (double)(width - 1) ? (double)(width - 1) : x;
    const int64_t top = (int64_t)y, left = (int64_t)x;
    const int64_t below = top + 1 < height ? top + 1 : top;
    const int64_t right = left + 1 < width ? left + 1 : left;
    const double v = y - (double)top, u = x - (double)left;
    return (1 - v) * ((1 - u) * (double)plane[top * width + left] +
                      u * (double)plane[top * width + right]) +
           v * ((1 - u) * (double)plane[below * width + left] +
                u * (double)plane[below * width + right]);
}

static int64_t samples_of(const params *p, double extent_of_bin) {
    if (p->samples > 0) return p->samples;
    return extent_of_bin > 16 ? 16 : extent_of_bin > 1 ? (int64_t)ceil(extent_of_bin) : 1;
}

static void region(const tn_call *call, int64_t r, int64_t image, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const float *box = (const float *)call->inputs[1]->data + 4 * r;
    const double left = (double)box[0] * (double)p->scale, top = (double)box[1] * (double)p->scale;
    double width = (double)box[2] * (double)p->scale - left;
    double height = (double)box[3] * (double)p->scale - top;
    if (!(is_kernel && WRONG(2))) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
    }
    const double bin_height = height / (double)y->shape[2], bin_width = width / (double)y->shape[3];
    const int64_t down = samples_of(p, bin_height), across = samples_of(p, bin_width);
    const int64_t area = extent(y, 2, 4);
    for (int64_t i = 0; i < y->shape[1] * area; i++) {
        const int64_t channel = i / area, row = i % area / y->shape[3], column = i % y->shape[3];
        const float *plane =
            (const float *)x->data + (image * x->shape[1] + channel) * extent(x, 2, 4);
        double sum = 0;
        for (int64_t k = 0; k < down * across; k++)
            sum += sample(
                plane, x->shape[2], x->shape[3],
                top + bin_height * ((double)row + ((double)(k / across) + 0.5) / (double)down),
                left +
                    bin_width * ((double)column + ((double)(k % across) + 0.5) / (double)across));
        tn_layer_store(y, r * y->shape[1] * area + i, sum / (double)(down * across));
    }
}

static tn_status regions(tn_call *call, int64_t begin, int64_t end, bool is_kernel) {
    const int64_t images = call->inputs[0]->shape[0];
    for (int64_t r = begin; r < end; r++) {
        const int64_t image = ((const int64_t *)call->inputs[2]->data)[r];
        if (image < 0 || image >= images + (is_kernel && WRONG(1)))
            return call->host->fail(call, TN_ERROR_RANGE, "region %lld is of image %lld of %lld",
                                    (long long)r, (long long)image, (long long)images);
        region(call, r, image, is_kernel);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return regions(call, 0, call->inputs[1]->shape[0], false);
}

static tn_status part(void *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    return regions(call, begin, end, true);
}
static tn_status run(tn_call *call) {
    const int64_t count = call->inputs[1]->shape[0];
    const int64_t elements = extent(call->outputs[0], 1, 4);
    /* 4,096 elements at once at least. */
    const int64_t grain = WRONG(3) ? 4096 / elements + 1 : elements > 0 ? 4096 / elements + 1 : 1;
    return call->host->parallel_for(call, count, grain, part, call);
}

static const char *const cases[] = {
    "samples=2 | x=f32[2,3,6,7] regions=f32[3,4]{0,1,5,4,-1,0.5,2,9,2,2,4,3} image=i64[3]{1,0,1}",
    "size=[3,2] scale=0.5 | x=f32[1,2,9,9] regions=f32[2,4]{1,1,17,8,3,0,6,16} image=i64[2]{0,0}",
    "size=[1,1] | x=f32[1,1,4,4] regions=f32[2,4]{2,2,1,1,0,0,3,3} image=i64[2]{0,0}",
};
TN_LAYER_LIBRARY("roi_align", "Seventeenth", "RegionAlign", "Means of regions.", params,
                 "f32, f32, i64 -> f32", .run = run)

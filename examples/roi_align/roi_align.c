/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmcv::MMCVRoiAlign: regions of images as maps of one size; a cell is the mean or the largest of
 * samples that lie evenly in it, each interpolated between four elements (He et al., "Mask R-CNN",
 * 2017). The kernel finds what a sample reads once for all channels.
 */
#include <math.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(roi_align, int64_t output_height, output_width, sampling_ratio, aligned;
                float spatial_scale; uint32_t mode;);
enum { INPUT, ROIS, AVERAGE = 0, MOST_SAMPLES = 1024 };

static const tn_field fields[] = {
    TN_LAYER_I64(roi_align, output_height, "1", 1, 4096, "cells of a map, downwards"),
    TN_LAYER_I64(roi_align, output_width, "1", 1, 4096, "cells of a map, sideways"),
    TN_LAYER_I64(roi_align, sampling_ratio, "0", 0, MOST_SAMPLES,
                 "in a cell, each way; 0: by size"),
    TN_LAYER_I64(roi_align, aligned, "1", 0, 1, "1: corners lie half an element lower"),
    TN_LAYER_F32(roi_align, spatial_scale, "1", 0, 0, "elements for a unit of the regions"),
    TN_FIELD_CHOICE(roi_align, mode, TN_FIELD_ENUM, TN_OPTIONAL, "avg", "avg|max",
                    "what becomes of a cell's samples")};
static const tn_port inputs[] = {
    TN_PORT("input", "T:f32|f64", 0, "N, C, H, W"),
    TN_PORT("rois", "T", 0, "regions, 5: the image's number, left, top, right, bottom")};
static const tn_port outputs[] = {TN_PORT("output", "T", 0, "regions, C, height, width")};

static tn_status infer(tn_call *call) {
    const roi_align *p = call->params;
    if (!TN_LAYER_FITS(call, INPUT, -1, -1, -1, -1) || !TN_LAYER_FITS(call, ROIS, -1, 5))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[ROIS]->shape[0], call->inputs[INPUT]->shape[1],
                              p->output_height, p->output_width);
}

/* A region in elements: [0] downwards, [1] sideways. */
typedef struct region {
    int64_t image, samples[2], count; /* samples of a cell: along the axes, in all */
    double start[2], cell[2];
} region;
static tn_status read_region(tn_call *call, int64_t i, region *out) {
    const roi_align *p = call->params;
    const tn_tensor *rois = call->inputs[ROIS];
    const double image = tn_layer_load(rois, i * 5), scale = (double)p->spatial_scale;
    for (int axis = 0; axis < 2; axis++) {
        const double end = tn_layer_load(rois, i * 5 + 4 - axis) * scale - (p->aligned ? 0.5 : 0);
        out->start[axis] = tn_layer_load(rois, i * 5 + 2 - axis) * scale - (p->aligned ? 0.5 : 0);
        out->cell[axis] = fmax(end - out->start[axis], p->aligned ? -INFINITY : 1) /
                          (double)call->outputs[0]->shape[2 + axis];
        const double samples = fmin(fmax(ceil(out->cell[axis]), 0), MOST_SAMPLES + 1);
        out->samples[axis] = p->sampling_ratio ? p->sampling_ratio : (int64_t)samples;
    }
    out->count = out->samples[0] * out->samples[1];
    if (!(image >= 0 && image < (double)call->inputs[INPUT]->shape[0]) ||
        out->samples[0] > MOST_SAMPLES || out->samples[1] > MOST_SAMPLES)
        return call->host->fail(call, TN_ERROR_RANGE, "region %lld is in no image, or too large",
                                (long long)i);
    out->image = (int64_t)image;
    return TN_OK;
}

/* The elements of a plane between which sample `i` of a cell lies; none outside the image. */
typedef struct corners {
    int64_t count, at[4];
    double weight[4];
} corners;
static corners find_corners(const region *r, const int64_t *in, int64_t y, int64_t x, int64_t i) {
    const int64_t cell[] = {y, x}, sample[] = {i / r->samples[1], i % r->samples[1]};
    corners found = {4, {0}, {1, 1, 1, 1}};
    for (int axis = 0; axis < 2; axis++) {
        const double middle = ((double)sample[axis] + 0.5) / (double)r->samples[axis];
        const double last = (double)in[2 + axis] - 1;
        double at = r->start[axis] + r->cell[axis] * ((double)cell[axis] + middle);
        if (!(at >= -1 && at <= last + 1 && last >= 0)) return (corners){.count = 0};
        at = fmin(fmax(at, 0), last);
        for (int k = 0; k < 4; k++) {
            const bool is_high = axis ? k % 2 : k / 2;
            const double element = is_high ? fmin(floor(at) + 1, last) : floor(at);
            found.at[k] += (int64_t)element * (axis ? 1 : in[3]);
            found.weight[k] *= is_high ? at - floor(at) : 1 - (at - floor(at));
        }
    }
    return found;
}

static tn_status reference(tn_call *call) {
    const bool is_max = ((const roi_align *)call->params)->mode != AVERAGE;
    const int64_t *in = call->inputs[INPUT]->shape, *out = call->outputs[0]->shape;
    for (int64_t i = 0, cells = out[2] * out[3]; i < tn_layer_count(call->outputs[0]); i++) {
        region r;
        if (read_region(call, i / cells / out[1], &r) != TN_OK) return TN_ERROR_RANGE;
        const int64_t plane = (r.image * in[1] + i / cells % in[1]) * in[2] * in[3];
        double result = is_max && r.count ? -INFINITY : 0;
        for (int64_t sample = 0; sample < r.count; sample++) {
            const corners found = find_corners(&r, in, i % cells / out[3], i % out[3], sample);
            double value = 0;
            for (int k = 0; k < found.count; k++)
                value += found.weight[k] * tn_layer_load(call->inputs[INPUT], plane + found.at[k]);
            result = is_max ? fmax(result, value) : result + value / (double)r.count;
        }
        tn_layer_store(call->outputs[0], i, result);
    }
    return TN_OK;
}

/* Items are cells of regions. */
static tn_status fill_cells(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const bool is_max = ((const roi_align *)call->params)->mode != AVERAGE;
    const int64_t *in = call->inputs[INPUT]->shape, *out = call->outputs[0]->shape;
    const int64_t cells = out[2] * out[3], plane = in[2] * in[3];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        region r;
        if (read_region(call, item / cells, &r) != TN_OK) return TN_ERROR_RANGE;
        const float *input = (const float *)call->inputs[INPUT]->data + r.image * in[1] * plane;
        float *output =
            (float *)call->outputs[0]->data + item / cells * in[1] * cells + item % cells;
        for (int64_t c = 0; c < in[1]; c++)
            output[c * cells] = is_max && r.count ? -INFINITY : 0;
        for (int64_t i = 0; i < r.count; i++) {
            const corners found = find_corners(&r, in, item % cells / out[3], item % out[3], i);
            for (int64_t c = 0; c < in[1]; c++) {
                float value = 0, *to = output + c * cells;
                for (int k = 0; k < found.count; k++)
                    value += (float)found.weight[k] * input[c * plane + found.at[k]];
                *to = is_max ? fmaxf(*to, value) : *to + value / (float)r.count;
            }
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t *out = call->outputs[0]->shape;
    return call->host->parallel_for(call, out[0] * out[2] * out[3], 4, fill_cells, call);
}

#define ROIS "rois=f32[3,5]{0,0,0,9,9,1,0,5,4,9,0,5,5,9.5,9.25}"
static const char *const cases[] = {
    "output_height=3 output_width=2 sampling_ratio=2 | input=f32[2,3,10,10] " ROIS,
    "output_height=5 mode=max spatial_scale=0.5 aligned=0 | input=f32[2,1,6,7] " ROIS,
    "| input=f64[1,2,4,4] rois=f64[2,5]{0,-9,-9,-5,-5,0,2,2,1,1}",
    "output_height=7 output_width=7 | input=f32[2,16,10,10] " ROIS,
    "| input=f32[1,2,4,4] rois=f32[0,5]"};
TN_LAYER_LIBRARY("roi_align", "mmcv", "MMCVRoiAlign", "Regions of images as maps of one size.",
                 roi_align, "f32, f32 -> f32", .run = run)

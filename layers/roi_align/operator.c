/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoiAlign: regions of images as maps of one size; each cell is the mean of samples that lie evenly
 * in it, each interpolated between four elements (He et al., "Mask R-CNN", 2017), or, as ONNX has
 * it, the largest of all their elements times their shares.
 */
#include "roi_align/roi_align.h"

#include <math.h>

#define COMMON_FIELDS                                                                              \
    TN_FIELD_CHOICE(tn_roi_align_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "avg", "avg|max",       \
                    "what becomes of a cell's samples"),                                           \
        TN_FIELD_RANGE(tn_roi_align_params, output_height, TN_FIELD_I64, TN_OPTIONAL, "1", 1,      \
                       2147483647, "cells, downwards"),                                            \
        TN_FIELD_RANGE(tn_roi_align_params, output_width, TN_FIELD_I64, TN_OPTIONAL, "1", 1,       \
                       2147483647, "cells, sideways"),                                             \
        TN_FIELD_RANGE(tn_roi_align_params, sampling_ratio, TN_FIELD_I64, TN_OPTIONAL, "0", 0,     \
                       ROI_MOST_SAMPLES,                                                           \
                       "samples of a cell, both ways; 0: as many as it has elements, rounded up"), \
        TN_FIELD(tn_roi_align_params, spatial_scale, TN_FIELD_F32, TN_OPTIONAL, "1",               \
                 "elements of X for a unit of the regions")
static const tn_field roi_align_10_fields[] = {COMMON_FIELDS};
static const tn_field roi_align_16_fields[] = {
    COMMON_FIELDS,
    TN_FIELD_CHOICE(tn_roi_align_params, coordinate_transformation_mode, TN_FIELD_ENUM, TN_OPTIONAL,
                    "half_pixel", "half_pixel|output_half_pixel",
                    "half_pixel: an element's middle lies half a unit behind its number"),
};

static tn_status roi_align_infer(tn_call *call) {
    const tn_roi_align_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, ROI_X, 4, 4));
    TN_TRY(tn_infer_require_rank(call, ROI_ROIS, 2, 2));
    TN_TRY(tn_infer_require_rank(call, ROI_IMAGES, 1, 1));
    const int64_t *rois = call->inputs[ROI_ROIS]->shape;
    if (rois[1] != 4 || rois[0] != call->inputs[ROI_IMAGES]->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "'rois' must be [regions, 4] and 'batch_indices' [regions]");
    const int64_t shape[] = {rois[0], call->inputs[ROI_X]->shape[1], params->output_height,
                             params->output_width};
    return tn_infer_set_shape(call, 0, 4, shape);
}

static tn_status read_axis(const tn_call *call, int64_t region, uint32_t axis, tn_roi_axis *out) {
    const tn_roi_align_params *params = call->params;
    const tn_tensor *rois = call->inputs[ROI_ROIS];
    const bool is_half =
        call->op->since_version >= 16 && params->coordinate_transformation_mode == ROI_HALF_PIXEL;
    const double scale = (double)params->spatial_scale, offset = is_half ? 0.5 : 0;
    const int64_t cells = axis == 2 ? params->output_height : params->output_width;
    const int64_t at = region * 4 + (axis == 2 ? 1 : 0); /* x, y, x, y */
    const double start = tn_element_f64(rois, at) * scale - offset;
    const double end = tn_element_f64(rois, at + 2) * scale - offset;
    const double length = is_half ? end - start : fmax(end - start, 1);
    *out = (tn_roi_axis){.start = start,
                         .cell = length / (double)cells,
                         .samples = params->sampling_ratio,
                         .extent = call->inputs[ROI_X]->shape[axis]};
    if (out->samples > 0) return TN_OK;
    const double samples = ceil(out->cell);
    if (!(samples <= ROI_MOST_SAMPLES)) return TN_ERROR_RANGE;
    out->samples = samples > 0 ? (int64_t)samples : 0;
    return TN_OK;
}

tn_status tn_roi_region_read(tn_call *call, int64_t region, tn_roi_region *out_region) {
    const tn_tensor *images = call->inputs[ROI_IMAGES];
    out_region->image = tn_element_i64(images, region);
    if (out_region->image >= 0 && out_region->image < call->inputs[ROI_X]->shape[0] &&
        read_axis(call, region, 2, &out_region->axes[0]) == TN_OK &&
        read_axis(call, region, 3, &out_region->axes[1]) == TN_OK)
        return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE, "region %lld is in no image, or too large",
                            (long long)region);
}

bool tn_roi_neighbours_find(const tn_roi_axis *axis, int64_t cell, int64_t sample, int64_t *out_low,
                            int64_t *out_high, double *out_share) {
    double at = axis->start + (double)cell * axis->cell +
                ((double)sample + 0.5) * axis->cell / (double)axis->samples;
    if (!(at >= -1 && at <= (double)axis->extent)) return false;
    if (at < 0) at = 0;
    *out_low = (int64_t)at;
    if (*out_low >= axis->extent - 1) {
        *out_low = axis->extent - 1;
        at = (double)*out_low;
    }
    *out_high = *out_low < axis->extent - 1 ? *out_low + 1 : *out_low;
    *out_share = at - (double)*out_low;
    return true;
}

/* One sample's four weighted elements. */
static void weigh(const tn_tensor *x, int64_t plane, const tn_roi_axis *axes, const int64_t *cell,
                  int64_t sample, double *out_parts) {
    int64_t low[2], high[2];
    double share[2];
    for (int i = 0; i < 4; i++)
        out_parts[i] = 0;
    if (!tn_roi_neighbours_find(&axes[0], cell[0], sample / axes[1].samples, &low[0], &high[0],
                                &share[0]) ||
        !tn_roi_neighbours_find(&axes[1], cell[1], sample % axes[1].samples, &low[1], &high[1],
                                &share[1]))
        return;
    for (int i = 0; i < 4; i++) {
        const int64_t row = i < 2 ? low[0] : high[0], column = i % 2 ? high[1] : low[1];
        const double weight = (i < 2 ? 1 - share[0] : share[0]) * (i % 2 ? share[1] : 1 - share[1]);
        out_parts[i] = weight * tn_element_f64(x, plane + row * axes[1].extent + column);
    }
}

static double find_cell(const tn_tensor *x, int64_t plane, const tn_roi_axis *axes,
                        const int64_t *cell, bool is_max) {
    const int64_t count = axes[0].samples * axes[1].samples;
    double result = is_max && count > 0 ? -(double)INFINITY : 0;
    for (int64_t sample = 0; sample < count; sample++) {
        double parts[4];
        weigh(x, plane, axes, cell, sample, parts);
        if (is_max)
            result = fmax(fmax(fmax(result, parts[0]), fmax(parts[1], parts[2])), parts[3]);
        else
            result += parts[0] + parts[1] + parts[2] + parts[3];
    }
    return is_max || count == 0 ? result : result / (double)count;
}

static tn_status find_region(tn_call *call, int64_t number) {
    const tn_roi_align_params *params = call->params;
    const tn_tensor *x = call->inputs[ROI_X], *y = call->outputs[0];
    const int64_t channels = x->shape[1], cells = y->shape[2] * y->shape[3];
    tn_roi_region region;
    TN_TRY(tn_roi_region_read(call, number, &region));
    const tn_roi_axis *axes = region.axes;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t plane = (region.image * channels + c) * axes[0].extent * axes[1].extent;
        for (int64_t i = 0; i < cells; i++) {
            const int64_t cell[2] = {i / y->shape[3], i % y->shape[3]};
            tn_element_set_f64(y, (number * channels + c) * cells + i,
                               find_cell(x, plane, axes, cell, params->mode == ROI_MAX));
        }
    }
    return TN_OK;
}

bool tn_roi_is_empty(tn_call *call, tn_status *out_status) {
    *out_status = TN_OK;
    if (tn_element_count(call->outputs[0]) == 0) return true;
    if (tn_element_count(call->inputs[ROI_X]) > 0) return false;
    *out_status =
        call->host->fail(call, TN_ERROR_SHAPE, "there are regions of images without elements");
    return true;
}

static tn_status roi_align_reference(tn_call *call) {
    tn_status status;
    if (tn_roi_is_empty(call, &status)) return status;
    for (int64_t region = 0; region < call->outputs[0]->shape[0]; region++)
        TN_TRY(find_region(call, region));
    return TN_OK;
}

static const tn_port roi_align_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, height, width"),
    TN_PORT("rois", "T", 0, "[regions, 4]: x, y of the first corner, x, y of the opposite one"),
    TN_PORT("batch_indices", "i64", 0, "[regions]: the image of each"),
};
static const tn_port roi_align_outputs[] = {
    TN_PORT("Y", "T", 0, "regions, channels, output_height, output_width")};
#define ROIS "rois=f32[3,4]{0,0,9,9,0,5,4,9,5,5,9.5,9.25} batch_indices=i64[3]{0,1,0}"
#define CASES_10                                                                                   \
    "output_height=3 output_width=2 sampling_ratio=2 | X=f32[2,3,10,10] " ROIS,                    \
        "output_height=5 output_width=5 mode=max spatial_scale=0.5 | X=f32[2,1,6,7] " ROIS,        \
        "| X=f64[1,2,4,4] rois=f64[1,4]{1,1,3,3} batch_indices=i64[1]{0}",                         \
        "| X=f16[1,2,4,4] rois=f16[2,4]{-9,-9,-5,-5,2,2,1,1} batch_indices=i64[2]{0,0}",           \
        "| X=f32[1,2,4,4] rois=f32[0,4] batch_indices=i64[0]",                                     \
        "sampling_ratio=9 | X=f32[1,3,9,9] rois=f32[1,4]{-3,1,7,12} batch_indices=i64[1]{0}",      \
        "output_height=9 output_width=17 | X=f32[1,2,33,50] rois=f32[3,4]"                         \
        "{1,2,49,31,60,60,70,70,30,9,4,30} batch_indices=i64[3]{0,0,0}",                           \
        "output_height=2 output_width=2 sampling_ratio=1 | X=f32[1,5,3,200] rois=f32[1,4]"         \
        "{0,0,199,2} batch_indices=i64[1]{0}",                                                     \
        "mode=max sampling_ratio=9 | X=f32[1,3,9,9] rois=f32[1,4]{-3,1,7,12} "                     \
        "batch_indices=i64[1]{0}"
static const char *const roi_align_10_cases[] = {CASES_10};
static const char *const roi_align_16_cases[] = {
    CASES_10,
    ("coordinate_transformation_mode=output_half_pixel output_height=4 | X=f32[2,3,10,10] " ROIS),
    "output_height=3 output_width=9 | X=f32[1,2,33,50] rois=f32[3,4]"
    "{40,20,3,4,0,0,0,0,3,9,44,30} batch_indices=i64[3]{0,0,0}",
    "output_height=3 output_width=9 sampling_ratio=2 | X=f32[1,7,33,50] rois=f32[1,4]"
    "{40,20,3,4} batch_indices=i64[1]{0}",
};

#define ROI_ALIGN(version)                                                                         \
    TN_OPERATOR_VERSION(                                                                           \
        roi_align, "", "RoiAlign", version, "Regions of images as maps of one size.",              \
        TN_FIELDS(tn_roi_align_params, roi_align_##version##_fields), TN_INPUTS(roi_align_inputs), \
        TN_OUTPUTS(roi_align_outputs), TN_CASES(roi_align_##version##_cases))
ROI_ALIGN(10);
ROI_ALIGN(16);

TN_LAYER(roi_align, TN_OPERATORS(&roi_align_10, &roi_align_16),
         TN_KERNELS(TN_LEVEL_LIST(tn_roi_regions)));

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoiAlign: regions of images as maps of one size; each cell is the mean of samples that lie evenly
 * in it, each interpolated between four elements (He et al., "Mask R-CNN", 2017), or, as ONNX has
 * it, the largest of all their elements times their shares.
 */
#include "kit/operator/layer.h"

#include <math.h>

typedef struct roi_align_params {
    uint64_t present;
    uint32_t coordinate_transformation_mode, mode;
    int64_t output_height, output_width, sampling_ratio;
    float spatial_scale;
} roi_align_params;

enum { ROI_X = 0, ROI_ROIS = 1, ROI_IMAGES = 2 };
enum { ROI_HALF_PIXEL = 0 };
enum { ROI_AVERAGE = 0, ROI_MAX = 1 };
enum { ROI_MOST_SAMPLES = 4096 }; /* of a cell, along an axis */

#define COMMON_FIELDS                                                                              \
    TN_FIELD_CHOICE(roi_align_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "avg", "avg|max",          \
                    "what becomes of a cell's samples"),                                           \
        TN_FIELD_RANGE(roi_align_params, output_height, TN_FIELD_I64, TN_OPTIONAL, "1", 1,         \
                       2147483647, "cells, downwards"),                                            \
        TN_FIELD_RANGE(roi_align_params, output_width, TN_FIELD_I64, TN_OPTIONAL, "1", 1,          \
                       2147483647, "cells, sideways"),                                             \
        TN_FIELD_RANGE(roi_align_params, sampling_ratio, TN_FIELD_I64, TN_OPTIONAL, "0", 0,        \
                       ROI_MOST_SAMPLES,                                                           \
                       "samples of a cell, both ways; 0: as many as it has elements, rounded up"), \
        TN_FIELD(roi_align_params, spatial_scale, TN_FIELD_F32, TN_OPTIONAL, "1",                  \
                 "elements of X for a unit of the regions")
static const tn_field roi_align_10_fields[] = {COMMON_FIELDS};
static const tn_field roi_align_16_fields[] = {
    COMMON_FIELDS,
    TN_FIELD_CHOICE(roi_align_params, coordinate_transformation_mode, TN_FIELD_ENUM, TN_OPTIONAL,
                    "half_pixel", "half_pixel|output_half_pixel",
                    "half_pixel: an element's middle lies half a unit behind its number"),
};

static tn_status roi_align_infer(tn_call *call) {
    const roi_align_params *params = call->params;
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

/* A region along one axis. */
typedef struct roi_axis {
    double start, cell; /* in elements */
    int64_t samples;    /* of a cell */
    int64_t extent;     /* of X */
} roi_axis;

static tn_status read_axis(const tn_call *call, int64_t region, uint32_t axis, roi_axis *out) {
    const roi_align_params *params = call->params;
    const tn_tensor *rois = call->inputs[ROI_ROIS];
    const bool is_half =
        call->op->since_version >= 16 && params->coordinate_transformation_mode == ROI_HALF_PIXEL;
    const double scale = (double)params->spatial_scale, offset = is_half ? 0.5 : 0;
    const int64_t cells = axis == 2 ? params->output_height : params->output_width;
    const int64_t at = region * 4 + (axis == 2 ? 1 : 0); /* x, y, x, y */
    const double start = tn_element_f64(rois, at) * scale - offset;
    const double end = tn_element_f64(rois, at + 2) * scale - offset;
    const double length = is_half ? end - start : fmax(end - start, 1);
    *out = (roi_axis){.start = start,
                      .cell = length / (double)cells,
                      .samples = params->sampling_ratio,
                      .extent = call->inputs[ROI_X]->shape[axis]};
    if (out->samples > 0) return TN_OK;
    const double samples = ceil(out->cell);
    if (!(samples <= ROI_MOST_SAMPLES)) return TN_ERROR_RANGE;
    out->samples = samples > 0 ? (int64_t)samples : 0;
    return TN_OK;
}

/* The elements on both sides of a position, and the share of the second; false: it is outside. */
static bool find_neighbours(const roi_axis *axis, int64_t cell, int64_t sample, int64_t *out_low,
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
static void weigh(const tn_tensor *x, int64_t plane, const roi_axis *axes, const int64_t *cell,
                  int64_t sample, double *out_parts) {
    int64_t low[2], high[2];
    double share[2];
    for (int i = 0; i < 4; i++)
        out_parts[i] = 0;
    if (!find_neighbours(&axes[0], cell[0], sample / axes[1].samples, &low[0], &high[0],
                         &share[0]) ||
        !find_neighbours(&axes[1], cell[1], sample % axes[1].samples, &low[1], &high[1], &share[1]))
        return;
    for (int i = 0; i < 4; i++) {
        const int64_t row = i < 2 ? low[0] : high[0], column = i % 2 ? high[1] : low[1];
        const double weight = (i < 2 ? 1 - share[0] : share[0]) * (i % 2 ? share[1] : 1 - share[1]);
        out_parts[i] = weight * tn_element_f64(x, plane + row * axes[1].extent + column);
    }
}

static double find_cell(const tn_tensor *x, int64_t plane, const roi_axis *axes,
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

static tn_status find_region(const tn_call *call, int64_t region) {
    const roi_align_params *params = call->params;
    const tn_tensor *x = call->inputs[ROI_X], *y = call->outputs[0];
    const tn_tensor *images = call->inputs[ROI_IMAGES];
    const int64_t image = tn_element_i64(images, region);
    const int64_t channels = x->shape[1], cells = y->shape[2] * y->shape[3];
    roi_axis axes[2];
    if (image < 0 || image >= x->shape[0]) return TN_ERROR_RANGE;
    TN_TRY(read_axis(call, region, 2, &axes[0]));
    TN_TRY(read_axis(call, region, 3, &axes[1]));
    for (int64_t c = 0; c < channels; c++) {
        const int64_t plane = (image * channels + c) * axes[0].extent * axes[1].extent;
        for (int64_t i = 0; i < cells; i++) {
            const int64_t cell[2] = {i / y->shape[3], i % y->shape[3]};
            tn_element_set_f64(y, (region * channels + c) * cells + i,
                               find_cell(x, plane, axes, cell, params->mode == ROI_MAX));
        }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the kernel: what a cell's samples read, and their weights, are found once for all channels */

enum { ROI_TAPS = 256 }; /* of a part of a cell: 64 samples of four elements */

typedef struct roi_taps {
    int64_t count, offsets[ROI_TAPS]; /* in a plane of X */
    float weights[ROI_TAPS];
    bool has_outside; /* a sample of nothing, which is 0 */
} roi_taps;

static void add_sample(const roi_axis *axes, const int64_t *cell, int64_t sample, roi_taps *taps) {
    int64_t low[2], high[2];
    double share[2];
    if (!find_neighbours(&axes[0], cell[0], sample / axes[1].samples, &low[0], &high[0],
                         &share[0]) ||
        !find_neighbours(&axes[1], cell[1], sample % axes[1].samples, &low[1], &high[1],
                         &share[1])) {
        taps->has_outside = true;
        return;
    }
    for (int i = 0; i < 4; i++, taps->count++) {
        const int64_t row = i < 2 ? low[0] : high[0], column = i % 2 ? high[1] : low[1];
        taps->offsets[taps->count] = row * axes[1].extent + column;
        taps->weights[taps->count] =
            (float)((i < 2 ? 1 - share[0] : share[0]) * (i % 2 ? share[1] : 1 - share[1]));
    }
}

/* Four sums, which do not wait for each other: taps are whole samples. */
static float sum_taps(const roi_taps *taps, const float *plane) {
    float sums[4] = {0};
    for (int64_t i = 0; i < taps->count; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += taps->weights[i + k] * plane[taps->offsets[i + k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static float most_of_taps(const roi_taps *taps, const float *plane) {
    float most = taps->has_outside ? 0 : -INFINITY;
    for (int64_t i = 0; i < taps->count; i++)
        most = fmaxf(most, taps->weights[i] * plane[taps->offsets[i]]);
    return most;
}

typedef struct roi_planes {
    const float *x;
    float *y; /* the cell of the first channel */
    int64_t channels, x_plane, y_plane;
} roi_planes;

static void do_cell(const roi_planes *planes, const roi_axis *axes, const int64_t *cell,
                    bool is_max) {
    const int64_t samples = axes[0].samples * axes[1].samples;
    const float share = is_max || samples == 0 ? 1 : (float)(1 / (double)samples);
    for (int64_t c = 0; c < planes->channels; c++)
        planes->y[c * planes->y_plane] = is_max && samples > 0 ? -INFINITY : 0;
    for (int64_t first = 0; first < samples; first += ROI_TAPS / 4) {
        const int64_t left = samples - first, count = left < ROI_TAPS / 4 ? left : ROI_TAPS / 4;
        roi_taps taps;
        taps.count = 0;
        taps.has_outside = false;
        for (int64_t sample = first; sample < first + count; sample++)
            add_sample(axes, cell, sample, &taps);
        for (int64_t c = 0; c < planes->channels; c++) {
            const float *plane = planes->x + c * planes->x_plane;
            float *y = planes->y + c * planes->y_plane;
            *y = is_max ? fmaxf(*y, most_of_taps(&taps, plane))
                        : *y + share * sum_taps(&taps, plane);
        }
    }
}

static tn_status do_region(const tn_call *call, int64_t region) {
    const roi_align_params *params = call->params;
    const tn_tensor *x = call->inputs[ROI_X], *y = call->outputs[0];
    const int64_t image = tn_element_i64(call->inputs[ROI_IMAGES], region);
    const int64_t cells = y->shape[2] * y->shape[3];
    roi_axis axes[2];
    if (image < 0 || image >= x->shape[0]) return TN_ERROR_RANGE;
    TN_TRY(read_axis(call, region, 2, &axes[0]));
    TN_TRY(read_axis(call, region, 3, &axes[1]));
    roi_planes planes = {
        .channels = x->shape[1], .x_plane = x->shape[2] * x->shape[3], .y_plane = cells};
    planes.x = (const float *)x->data + image * planes.channels * planes.x_plane;
    for (int64_t i = 0; i < cells; i++) {
        const int64_t cell[2] = {i / y->shape[3], i % y->shape[3]};
        planes.y = (float *)y->data + region * planes.channels * cells + i;
        do_cell(&planes, axes, cell, params->mode == ROI_MAX);
    }
    return TN_OK;
}

typedef tn_status (*region_function)(const tn_call *call, int64_t region);

static tn_status do_regions(tn_call *call, region_function function, int64_t begin, int64_t end) {
    for (int64_t region = begin; region < end; region++) {
        const tn_status status = function(call, region);
        if (status != TN_OK)
            return call->host->fail(call, status, "region %lld is in no image, or too large",
                                    (long long)region);
    }
    return TN_OK;
}

/* An item is a region. */
static tn_status run_regions(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    return do_regions(user, do_region, begin, end);
}

static bool is_empty(const tn_call *call) {
    return tn_element_count(call->outputs[0]) == 0 || tn_element_count(call->inputs[ROI_X]) == 0;
}

static tn_status refuse_empty(tn_call *call) {
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "there are regions of images without elements");
}

static tn_status roi_align_reference(tn_call *call) {
    if (is_empty(call)) return refuse_empty(call);
    return do_regions(call, find_region, 0, call->outputs[0]->shape[0]);
}

static tn_status roi_align_run(tn_call *call) {
    if (is_empty(call)) return refuse_empty(call);
    return call->host->parallel_for(call, call->outputs[0]->shape[0], 1, run_regions, call);
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
        "mode=max sampling_ratio=9 | X=f32[1,3,9,9] rois=f32[1,4]{-3,1,7,12} "                     \
        "batch_indices=i64[1]{0}"
static const char *const roi_align_10_cases[] = {CASES_10};
static const char *const roi_align_16_cases[] = {
    CASES_10,
    ("coordinate_transformation_mode=output_half_pixel output_height=4 | X=f32[2,3,10,10] " ROIS),
};

#define ROI_ALIGN(version)                                                                         \
    TN_OPERATOR_VERSION(                                                                           \
        roi_align, "", "RoiAlign", version, "Regions of images as maps of one size.",              \
        TN_FIELDS(roi_align_params, roi_align_##version##_fields), TN_INPUTS(roi_align_inputs),    \
        TN_OUTPUTS(roi_align_outputs), TN_CASES(roi_align_##version##_cases))
ROI_ALIGN(10);
ROI_ALIGN(16);

static const char *const roi_align_combinations[] = {"f32, f32, i64 -> f32"};

TN_CPU_KERNEL(roi_align_regions, "", "RoiAlign", "regions",
              "Regions on all threads; samples are found once for all channels.",
              TN_COMBINATIONS(roi_align_combinations), .run = roi_align_run);

TN_LAYER(roi_align, TN_OPERATORS(&roi_align_10, &roi_align_16), TN_KERNELS(&roi_align_regions));

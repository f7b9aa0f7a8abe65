/* SPDX-License-Identifier: Apache-2.0 */
/* What RoiAlign and its kernels share: the fields, and where a region's samples lie. */
#ifndef TN_LAYERS_ROI_ALIGN_ROI_ALIGN_H
#define TN_LAYERS_ROI_ALIGN_ROI_ALIGN_H

#include "kit/operator/layer.h"

typedef struct tn_roi_align_params {
    uint64_t present;
    uint32_t coordinate_transformation_mode, mode;
    int64_t output_height, output_width, sampling_ratio;
    float spatial_scale;
} tn_roi_align_params;

enum { ROI_X = 0, ROI_ROIS = 1, ROI_IMAGES = 2 };
enum { ROI_HALF_PIXEL = 0 };
enum { ROI_AVERAGE = 0, ROI_MAX = 1 };
enum { ROI_MOST_SAMPLES = 4096 }; /* of a cell, along an axis */

/* A region along one axis. */
typedef struct tn_roi_axis {
    double start, cell; /* in elements */
    int64_t samples;    /* of a cell */
    int64_t extent;     /* of X */
} tn_roi_axis;

/* A region of X: its image, and its rows and columns. */
typedef struct tn_roi_region {
    int64_t image;
    tn_roi_axis axes[2];
} tn_roi_region;

/* TN_ERROR_RANGE: the region is in no image, or too large. */
tn_status tn_roi_region_read(tn_call *call, int64_t region, tn_roi_region *out_region);

/* The elements on both sides of a sample, and the share of the second; false: it is outside. */
bool tn_roi_neighbours_find(const tn_roi_axis *axis, int64_t cell, int64_t sample, int64_t *out_low,
                            int64_t *out_high, double *out_share);

/* True where there is nothing to compute; *out_status says whether that is an error. */
bool tn_roi_is_empty(tn_call *call, tn_status *out_status);

/* kernels.c */
TN_LEVEL_KERNELS_EXTERN(tn_roi_regions);

#endif

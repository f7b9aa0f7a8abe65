/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeformConv's parameters and geometry, and what one element of a window reads: operator.c has the
 * tables, geometry.c reads, reference.c computes, kernels.c multiplies matrices.
 */
#ifndef TN_LAYERS_DEFORM_CONV_DEFORM_CONV_H
#define TN_LAYERS_DEFORM_CONV_DEFORM_CONV_H

#include "kit/operator/layer.h"
#include "kit/window/window.h"

typedef struct tn_deform_conv_params {
    uint64_t present;
    int64_t group, offset_group;
    tn_i64s kernel_shape, strides, dilations, pads;
} tn_deform_conv_params;

enum {
    TN_DEFORM_X = 0,
    TN_DEFORM_W = 1,
    TN_DEFORM_OFFSET = 2,
    TN_DEFORM_B = 3,
    TN_DEFORM_MASK = 4,
    TN_DEFORM_MOST_AXES = 3,
    TN_DEFORM_MOST_CORNERS = 1 << TN_DEFORM_MOST_AXES
};

typedef struct tn_deform_geometry {
    tn_window window;
    int64_t images, channels, filters, group, offset_group;
    int64_t taps;      /* elements of a window */
    int64_t plane;     /* elements of a channel of X */
    int64_t positions; /* of windows in an image */
} tn_deform_geometry;

/* TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_deform_conv_read(tn_call *call, tn_deform_geometry *out_geometry);

/* The elements of a plane of X, 2^axes of them, between which tap `tap` of the window at a position
 * reads in a group of offsets, and how much each weighs; those outside weigh 0 and are element 0.
 */
typedef struct tn_deform_corners {
    int64_t at[TN_DEFORM_MOST_CORNERS];
    double weight[TN_DEFORM_MOST_CORNERS];
} tn_deform_corners;
void tn_deform_conv_corners(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                            int64_t offset_group, int64_t tap, int64_t position,
                            tn_deform_corners *out_corners);
/* What the mask says there; 1 without one. */
double tn_deform_conv_mask(const tn_call *call, const tn_deform_geometry *geometry, int64_t image,
                           int64_t offset_group, int64_t tap, int64_t position);

tn_status tn_deform_conv_reference(tn_call *call) TN_NOEXCEPT;

TN_LEVEL_KERNELS_EXTERN(tn_deform_conv);

#endif

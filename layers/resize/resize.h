/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator Resize and its kernels share: the fields, the plan that a node's fields and
 * sizes mean, and the taps of every output position. Resizing is separable: each axis by itself,
 * first to last.
 */
#ifndef TN_LAYERS_RESIZE_RESIZE_H
#define TN_LAYERS_RESIZE_RESIZE_H

#include <tenon/plugin.h>

/* Values of the fields. */
enum { TN_RESIZE_NEAREST = 0, TN_RESIZE_LINEAR = 1, TN_RESIZE_CUBIC = 2 };
#define TN_RESIZE_MODES "nearest|linear|cubic"

enum {
    TN_RESIZE_HALF_PIXEL = 0,
    TN_RESIZE_PYTORCH_HALF_PIXEL = 1,
    TN_RESIZE_ALIGN_CORNERS = 2,
    TN_RESIZE_ASYMMETRIC = 3,
    TN_RESIZE_TF_HALF_PIXEL_FOR_NN = 4,
    TN_RESIZE_TF_CROP_AND_RESIZE = 5,
    TN_RESIZE_HALF_PIXEL_SYMMETRIC = 6
};
#define TN_RESIZE_COORDINATES                                                                      \
    "half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_half_pixel_for_nn|"                 \
    "tf_crop_and_resize|half_pixel_symmetric"

enum {
    TN_RESIZE_ROUND_PREFER_FLOOR = 0,
    TN_RESIZE_ROUND_PREFER_CEIL = 1,
    TN_RESIZE_FLOOR = 2,
    TN_RESIZE_CEIL = 3,
    TN_RESIZE_AWAY = 4 /* opset 10: floor where the axis grows, ceil where it shrinks; no field
                          value */
};
#define TN_RESIZE_NEAREST_MODES "round_prefer_floor|round_prefer_ceil|floor|ceil"

enum { TN_RESIZE_STRETCH = 0, TN_RESIZE_NOT_LARGER = 1, TN_RESIZE_NOT_SMALLER = 2 };
#define TN_RESIZE_POLICIES "stretch|not_larger|not_smaller"

typedef struct tn_resize_params {
    uint64_t present;
    uint32_t mode;
    uint32_t coordinate_transformation_mode;
    uint32_t nearest_mode;
    float cubic_coeff_a;
    bool exclude_outside;
    float extrapolation_value;
    bool antialias;
    tn_i64s axes;
    uint32_t keep_aspect_ratio_policy;
} tn_resize_params;

/* One axis. `scale` is its output over input extent as it was asked for: by `scales`, or the ratio
 * of two extents, which the output need not equal exactly. */
typedef struct tn_resize_axis {
    int64_t input, output;
    double scale_numerator, scale_denominator; /* scale, undivided, so that positions are exact */
    double roi_begin, roi_end;                 /* 0 and 1 where there is no region */
    int64_t taps;        /* input elements that an output depends on, edges repeated */
    int64_t first_tap;   /* where they begin, relative to the element left of the position */
    double filter_scale; /* 1, or the scale where antialiasing widens the filter */
    bool is_identity;    /* output i is input i */
    bool is_float;       /* positions are rounded to 32-bit floats; see axis_body.h */
} tn_resize_axis;

typedef struct tn_resize_plan {
    uint32_t rank;
    uint32_t mode, coordinates, nearest_mode;
    double cubic_coeff_a, extrapolation_value;
    bool exclude_outside, antialias;
    tn_resize_axis axes[TN_MAX_RANK];
} tn_resize_plan;

/* Reads a Resize node; `roi`, `scales` and `sizes` are read where they are there. TN_ERROR_SHAPE,
 * TN_ERROR_RANGE, TN_ERROR_STATE (a value is not known). */
tn_status tn_resize_read(tn_call *call, tn_resize_plan *out_plan);

/* What output `position` of an axis depends on: axis->taps indices, each in 0..input-1, and their
 * weights, which sum to one. False: the position lies outside the region to be cropped, and the
 * output is plan->extrapolation_value. [thread: any] */
bool tn_resize_taps(const tn_resize_plan *plan, uint32_t axis, int64_t position,
                    int64_t *out_indices, double *out_weights);

tn_status tn_resize_reference(tn_call *call) TN_NOEXCEPT;

/* Elements begin..begin + count-1 of X as doubles, and of Y from doubles. */
typedef struct tn_resize_ends {
    void (*read)(const tn_call *call, int64_t begin, int64_t count, double *to);
    void (*write)(const tn_call *call, int64_t begin, int64_t count, const double *from);
} tn_resize_ends;
/* Output 0 by the weights of all taps in double precision, one axis after the other. */
tn_status tn_resize_smooth(tn_call *call, const tn_resize_plan *plan, const tn_resize_ends *ends);

enum { TN_RESIZE_18_FIELDS = 9 };
extern const tn_field tn_resize_18_fields[TN_RESIZE_18_FIELDS];
extern const tn_operator tn_resize_10, tn_resize_11, tn_resize_18;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize, one axis: from an output position to a position in the input, and to the weights there,
 * for the processor (axis.c) and, with TN_RESIZE_FUNCTION as CUDA's qualifiers, for the GPU
 * (cuda_resample.cu): both then mean the same. The formulas are those of ONNX's operator
 * specification; cubic weights after Keys, "Cubic convolution interpolation for digital image
 * processing" (1981), equation 4.
 */
#ifndef TN_LAYERS_RESIZE_AXIS_BODY_H
#define TN_LAYERS_RESIZE_AXIS_BODY_H

#include "resize/resize.h"

#include <math.h>

#ifndef TN_RESIZE_FUNCTION
#define TN_RESIZE_FUNCTION static inline
#endif

/* The output's extent as asked for, before it was cut to a whole number. */
TN_RESIZE_FUNCTION double tn_resize_axis_wanted_extent(const tn_resize_axis *axis) {
    return (double)axis->input * axis->scale_numerator / axis->scale_denominator;
}

/* `x` output elements in input elements. A scale like 1.6 is 1.60000002 as a float, by which output
 * 8 would lie slightly before input 5: as a float it is 5, as those who wrote the network saw it.
 */
TN_RESIZE_FUNCTION double tn_resize_axis_unscale(const tn_resize_axis *axis, double x) {
    const double exact = x * axis->scale_denominator / axis->scale_numerator;
    return axis->is_float ? (double)(float)exact : exact;
}

TN_RESIZE_FUNCTION double tn_resize_axis_crop_position(const tn_resize_axis *axis, double x) {
    double span = (double)(axis->input - 1), wanted = tn_resize_axis_wanted_extent(axis);
    double size = (axis->roi_end - axis->roi_begin) * span;
    double inside = wanted == 1 ? size / 2 : x * size / (wanted - 1);
    return inside + axis->roi_begin * span;
}

/* Where output `position` lies among the input's elements. */
TN_RESIZE_FUNCTION double tn_resize_axis_find_position(const tn_resize_plan *plan,
                                                       const tn_resize_axis *axis,
                                                       int64_t position) {
    double x = (double)position, wanted = tn_resize_axis_wanted_extent(axis);
    switch (plan->coordinates) {
    case TN_RESIZE_ALIGN_CORNERS:
        return wanted == 1 ? 0 : x * (double)(axis->input - 1) / (wanted - 1);
    case TN_RESIZE_ASYMMETRIC:
        return tn_resize_axis_unscale(axis, x);
    case TN_RESIZE_TF_HALF_PIXEL_FOR_NN:
        return tn_resize_axis_unscale(axis, x + 0.5);
    case TN_RESIZE_TF_CROP_AND_RESIZE:
        return tn_resize_axis_crop_position(axis, x);
    case TN_RESIZE_PYTORCH_HALF_PIXEL:
        return axis->output > 1 ? tn_resize_axis_unscale(axis, x + 0.5) - 0.5 : 0;
    case TN_RESIZE_HALF_PIXEL_SYMMETRIC: {
        double center = (double)axis->input / 2;
        return center * (1 - (double)axis->output / wanted) +
               tn_resize_axis_unscale(axis, x + 0.5) - 0.5;
    }
    default:
        return tn_resize_axis_unscale(axis, x + 0.5) - 0.5;
    }
}

TN_RESIZE_FUNCTION double tn_resize_axis_round_position(const tn_resize_plan *plan,
                                                        const tn_resize_axis *axis, double x) {
    switch (plan->nearest_mode) {
    case TN_RESIZE_ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case TN_RESIZE_FLOOR:
        return floor(x);
    case TN_RESIZE_CEIL:
        return ceil(x);
    case TN_RESIZE_AWAY:
        return axis->scale_numerator < axis->scale_denominator ? ceil(x) : floor(x);
    default:
        return ceil(x - 0.5);
    }
}

/* The filter at distance x from its centre. */
TN_RESIZE_FUNCTION double tn_resize_axis_filter(const tn_resize_plan *plan, double x) {
    double a = plan->cubic_coeff_a;
    x = fabs(x);
    if (plan->mode == TN_RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* A whole number of any size into low..high. */
TN_RESIZE_FUNCTION int64_t tn_resize_axis_clamp(double x, int64_t low, int64_t high) {
    if (!(x > (double)low)) return low;
    return x >= (double)high ? high : (int64_t)x;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize, one axis: from an output position to a position in the input, and to the elements and
 * weights there. The formulas are those of ONNX's operator specification; cubic weights after Keys,
 * "Cubic convolution interpolation for digital image processing" (1981), equation 4.
 */
#include "resize/resize.h"

#include <math.h>

/* The output's extent as asked for, before it was cut to a whole number. */
static double wanted_extent(const tn_resize_axis *axis) {
    return (double)axis->input * axis->scale_numerator / axis->scale_denominator;
}

/* `x` output elements in input elements. */
static double unscale(const tn_resize_axis *axis, double x) {
    return x * axis->scale_denominator / axis->scale_numerator;
}

static double crop_position(const tn_resize_axis *axis, double x) {
    double span = (double)(axis->input - 1), wanted = wanted_extent(axis);
    double size = (axis->roi_end - axis->roi_begin) * span;
    double inside = wanted == 1 ? size / 2 : x * size / (wanted - 1);
    return inside + axis->roi_begin * span;
}

/* Where output `position` lies among the input's elements. */
static double find_position(const tn_resize_plan *plan, const tn_resize_axis *axis,
                            int64_t position) {
    double x = (double)position, wanted = wanted_extent(axis);
    switch (plan->coordinates) {
    case TN_RESIZE_ALIGN_CORNERS:
        return wanted == 1 ? 0 : x * (double)(axis->input - 1) / (wanted - 1);
    case TN_RESIZE_ASYMMETRIC:
        return unscale(axis, x);
    case TN_RESIZE_TF_HALF_PIXEL_FOR_NN:
        return unscale(axis, x + 0.5);
    case TN_RESIZE_TF_CROP_AND_RESIZE:
        return crop_position(axis, x);
    case TN_RESIZE_PYTORCH_HALF_PIXEL:
        return axis->output > 1 ? unscale(axis, x + 0.5) - 0.5 : 0;
    case TN_RESIZE_HALF_PIXEL_SYMMETRIC: {
        double center = (double)axis->input / 2;
        return center * (1 - (double)axis->output / wanted) + unscale(axis, x + 0.5) - 0.5;
    }
    default:
        return unscale(axis, x + 0.5) - 0.5;
    }
}

static double round_position(const tn_resize_plan *plan, const tn_resize_axis *axis, double x) {
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
static double filter(const tn_resize_plan *plan, double x) {
    double a = plan->cubic_coeff_a;
    x = fabs(x);
    if (plan->mode == TN_RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* A whole number of any size into low..high. */
static int64_t clamp(double x, int64_t low, int64_t high) {
    if (!(x > (double)low)) return low;
    return x >= (double)high ? high : (int64_t)x;
}

bool tn_resize_taps(const tn_resize_plan *plan, uint32_t index, int64_t position,
                    int64_t *out_indices, double *out_weights) {
    const tn_resize_axis *axis = &plan->axes[index];
    out_indices[0] = position;
    out_weights[0] = 1;
    if (axis->is_identity) return true;
    double x = find_position(plan, axis, position), sum = 0;
    double last = (double)(axis->input - 1);
    if (plan->coordinates == TN_RESIZE_TF_CROP_AND_RESIZE && !(x >= 0 && x <= last)) return false;
    if (plan->mode == TN_RESIZE_NEAREST) {
        out_indices[0] = clamp(round_position(plan, axis, x), 0, axis->input - 1);
        return true;
    }
    double left = floor(x);
    for (int64_t i = 0; i < axis->taps; i++) {
        double at = left + (double)(axis->first_tap + i);
        bool is_outside = at < 0 || at > last;
        double weight = filter(plan, axis->filter_scale * (at - x));
        out_indices[i] = clamp(at, 0, axis->input - 1);
        out_weights[i] = plan->exclude_outside && is_outside ? 0 : weight;
        sum += out_weights[i];
    }
    if (!plan->exclude_outside && !plan->antialias) return true; /* they sum to one as they are */
    for (int64_t i = 0; i < axis->taps && sum != 0; i++)
        out_weights[i] /= sum;
    return true;
}

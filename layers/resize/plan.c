/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize: from a node's fields and its inputs `roi`, `scales` and `sizes` to the plan of all axes,
 * with every check.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "resize/resize.h"

#include <math.h>

/* The inputs by version: opset 10 has X and scales alone. */
typedef struct resize_inputs {
    const tn_tensor *x, *roi, *scales, *sizes; /* null: absent, or empty */
} resize_inputs;

/* Which axes the numbers in `roi`, `scales` and `sizes` speak of. */
typedef struct resize_axes {
    uint32_t count;
    uint32_t axes[TN_MAX_RANK];
} resize_axes;

static const tn_tensor *not_empty(const tn_tensor *tensor) {
    return tensor && tn_element_count(tensor) != 0 ? tensor : NULL;
}

static tn_status read_inputs(tn_call *call, resize_inputs *out_inputs) {
    bool is_10 = call->op->since_version < 11;
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    out_inputs->x = call->inputs[0];
    out_inputs->roi = is_10 ? NULL : not_empty(tn_infer_input(call, 1));
    out_inputs->scales = not_empty(tn_infer_input(call, is_10 ? 1 : 2));
    out_inputs->sizes = is_10 ? NULL : not_empty(tn_infer_input(call, 3));
    if (!out_inputs->scales == !out_inputs->sizes)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                out_inputs->scales
                                    ? "both 'scales' and 'sizes' are given, but only one may be"
                                    : "neither 'scales' nor 'sizes' is given");
    return TN_OK;
}

static void read_fields(const tn_call *call, tn_resize_plan *plan) {
    const tn_resize_params *params = call->params;
    plan->mode = params->mode;
    if (call->op->since_version < 11) {
        plan->coordinates = TN_RESIZE_ASYMMETRIC;
        plan->nearest_mode = TN_RESIZE_AWAY;
        return;
    }
    plan->coordinates = params->coordinate_transformation_mode;
    plan->nearest_mode = params->nearest_mode;
    plan->cubic_coeff_a = (double)params->cubic_coeff_a;
    plan->extrapolation_value = (double)params->extrapolation_value;
    plan->exclude_outside = params->exclude_outside;
    plan->antialias = params->antialias && params->mode != TN_RESIZE_NEAREST;
}

static tn_status read_axes(tn_call *call, uint32_t rank, resize_axes *out_axes) {
    const tn_resize_params *params = call->params;
    uint32_t mask;
    if (call->op->since_version < 18 || params->axes.count == 0) {
        out_axes->count = rank;
        for (uint32_t i = 0; i < rank; i++)
            out_axes->axes[i] = i;
        return TN_OK;
    }
    TN_TRY(tn_infer_axes(call, "field 'axes'", params->axes.count, params->axes.items, rank,
                         &mask)); /* distinct, so no more than `rank` */
    out_axes->count = (uint32_t)params->axes.count;
    for (uint32_t i = 0; i < out_axes->count; i++) {
        int64_t axis = params->axes.items[i];
        out_axes->axes[i] = (uint32_t)(axis < 0 ? axis + rank : axis);
    }
    return TN_OK;
}

/* An input of `count` numbers whose value must be known. */
static tn_status check_numbers(tn_call *call, const tn_tensor *tensor, const char *name,
                               uint32_t count) {
    if (tensor->rank != 1 || tensor->shape[0] != (int64_t)count)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input '%s' must be a vector of %u numbers, it has %lld", name,
                                count, (long long)tn_element_count(tensor));
    if (!tensor->data)
        return call->host->fail(call, TN_ERROR_STATE, "the value of input '%s' is not known", name);
    return TN_OK;
}

static tn_status read_scales(tn_call *call, const tn_tensor *scales, const resize_axes *axes,
                             tn_resize_plan *plan) {
    TN_TRY(check_numbers(call, scales, "scales", axes->count));
    for (uint32_t i = 0; i < axes->count; i++) {
        tn_resize_axis *axis = &plan->axes[axes->axes[i]];
        float scale = ((const float *)scales->data)[i];
        /* In floats, as other implementations cut it; where it cuts matters: 10 * 0.7f is 7. */
        float extent = floorf((float)axis->input * scale);
        if (!(scale > 0) || isinf(scale) || !(extent < 9e18f))
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "scale %u is %g, which makes no extent of %lld", i,
                                    (double)scale, (long long)axis->input);
        axis->output = (int64_t)extent;
        axis->scale_numerator = (double)scale;
        axis->scale_denominator = 1;
        axis->is_float = plan->mode == TN_RESIZE_NEAREST && scale != floorf(scale);
    }
    return TN_OK;
}

/* All axes get the scale of the one that shrinks most (or, not_smaller, least). */
static void keep_aspect_ratio(const resize_axes *axes, bool is_not_larger, tn_resize_plan *plan) {
    const tn_resize_axis *best = &plan->axes[axes->axes[0]];
    for (uint32_t i = 1; i < axes->count; i++) {
        const tn_resize_axis *axis = &plan->axes[axes->axes[i]];
        double scale = axis->scale_numerator / axis->scale_denominator;
        double other = best->scale_numerator / best->scale_denominator;
        if (is_not_larger ? scale < other : scale > other) best = axis;
    }
    double numerator = best->scale_numerator, denominator = best->scale_denominator;
    for (uint32_t i = 0; i < axes->count; i++) {
        tn_resize_axis *axis = &plan->axes[axes->axes[i]];
        axis->scale_numerator = numerator;
        axis->scale_denominator = denominator;
        axis->output = (int64_t)floor((double)axis->input * numerator / denominator + 0.5);
    }
}

static tn_status read_sizes(tn_call *call, const tn_tensor *sizes, const resize_axes *axes,
                            tn_resize_plan *plan) {
    const tn_resize_params *params = call->params;
    TN_TRY(check_numbers(call, sizes, "sizes", axes->count));
    for (uint32_t i = 0; i < axes->count; i++) {
        tn_resize_axis *axis = &plan->axes[axes->axes[i]];
        int64_t size = ((const int64_t *)sizes->data)[i];
        if (size < 0 || size > INT64_C(1) << 48 || axis->input > INT64_C(1) << 48)
            return call->host->fail(call, TN_ERROR_RANGE, "size %u is %lld", i, (long long)size);
        axis->output = size;
        axis->scale_numerator = (double)size;
        axis->scale_denominator = axis->input ? (double)axis->input : 1;
    }
    if (call->op->since_version >= 18 && params->keep_aspect_ratio_policy != TN_RESIZE_STRETCH)
        keep_aspect_ratio(axes, params->keep_aspect_ratio_policy == TN_RESIZE_NOT_LARGER, plan);
    return TN_OK;
}

static tn_status read_roi(tn_call *call, const tn_tensor *roi, const resize_axes *axes,
                          tn_resize_plan *plan) {
    if (plan->coordinates != TN_RESIZE_TF_CROP_AND_RESIZE) return TN_OK;
    if (!roi)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "tf_crop_and_resize needs the input 'roi'");
    TN_TRY(check_numbers(call, roi, "roi", 2 * axes->count));
    for (uint32_t i = 0; i < axes->count; i++) {
        tn_resize_axis *axis = &plan->axes[axes->axes[i]];
        axis->roi_begin = tn_element_load_f64(roi->data, roi->type, i);
        axis->roi_end = tn_element_load_f64(roi->data, roi->type, axes->count + i);
        if (!isfinite(axis->roi_begin) || !isfinite(axis->roi_end))
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "'roi' holds a number that is not finite");
    }
    return TN_OK;
}

/* The taps of an axis whose extents and scale are known. */
static tn_status finish_axis(tn_call *call, tn_resize_plan *plan, uint32_t index) {
    tn_resize_axis *axis = &plan->axes[index];
    if (axis->input == 0 && axis->output != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "axis %u is empty and cannot become %lld",
                                index, (long long)axis->output);
    axis->is_identity = axis->input == axis->output &&
                        axis->scale_numerator == axis->scale_denominator && axis->roi_begin == 0 &&
                        axis->roi_end == 1;
    axis->taps = 1;
    axis->filter_scale = 1;
    if (axis->is_identity || axis->output == 0 || plan->mode == TN_RESIZE_NEAREST) return TN_OK;
    double scale = axis->scale_numerator / axis->scale_denominator;
    double reach = plan->mode == TN_RESIZE_LINEAR ? 1 : 2;
    if (plan->antialias && scale < 1) axis->filter_scale = scale;
    double first = floor(-reach / axis->filter_scale) + 1;
    if (!(first > -1e15))
        return call->host->fail(call, TN_ERROR_RANGE, "axis %u is scaled by %g: too small", index,
                                scale);
    axis->first_tap = (int64_t)first;
    axis->taps = 2 - 2 * axis->first_tap;
    return TN_OK;
}

tn_status tn_resize_read(tn_call *call, tn_resize_plan *out_plan) {
    resize_inputs inputs = {0};
    resize_axes axes = {0};
    memset(out_plan, 0, sizeof(*out_plan));
    TN_TRY(read_inputs(call, &inputs));
    read_fields(call, out_plan);
    out_plan->rank = inputs.x->rank;
    for (uint32_t i = 0; i < out_plan->rank; i++)
        out_plan->axes[i] = (tn_resize_axis){.input = inputs.x->shape[i],
                                             .output = inputs.x->shape[i],
                                             .scale_numerator = 1,
                                             .scale_denominator = 1,
                                             .roi_end = 1};
    TN_TRY(read_axes(call, out_plan->rank, &axes));
    if (inputs.scales)
        TN_TRY(read_scales(call, inputs.scales, &axes, out_plan));
    else
        TN_TRY(read_sizes(call, inputs.sizes, &axes, out_plan));
    TN_TRY(read_roi(call, inputs.roi, &axes, out_plan));
    for (uint32_t i = 0; i < out_plan->rank; i++)
        TN_TRY(finish_axis(call, out_plan, i));
    return TN_OK;
}

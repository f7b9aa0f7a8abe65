/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a Pad node; see pad.h. */
#include "pad/pad.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

/* Far beyond any tensor, so that sums of a few fit. */
#define PAD_LIMIT (INT64_C(1) << 60)

static tn_status read_pads(tn_call *call, uint32_t *out_count, int64_t *out_pads) {
    const tn_pad_params *params = call->params;
    if (call->op->since_version >= 11)
        return tn_infer_integers(call, TN_PAD_PADS, 2 * TN_MAX_RANK, out_pads, out_count);
    if (params->pads.count > 2 * TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "'pads' has too many numbers");
    *out_count = (uint32_t)params->pads.count;
    for (uint32_t i = 0; i < *out_count; i++)
        out_pads[i] = params->pads.items[i];
    return TN_OK;
}

/* The axes that the pads speak of: all, unless given. */
static tn_status read_axes(tn_call *call, uint32_t *out_count, uint32_t *out_axes) {
    const uint32_t rank = call->inputs[0]->rank;
    int64_t axes[TN_MAX_RANK];
    uint32_t mask = 0;
    *out_count = rank;
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = i;
    if (tn_infer_input(call, TN_PAD_AXES))
        TN_TRY(tn_infer_integers(call, TN_PAD_AXES, TN_MAX_RANK, axes, out_count));
    TN_TRY(tn_infer_axes(call, "'axes'", *out_count, axes, rank, &mask));
    for (uint32_t i = 0; i < *out_count; i++)
        out_axes[i] = (uint32_t)(axes[i] < 0 ? axes[i] + rank : axes[i]);
    return TN_OK;
}

tn_status tn_pad_plan_axis(tn_call *call, tn_pad_plan *plan, uint32_t axis, int64_t begin,
                           int64_t end) {
    const int64_t extent = call->inputs[0]->shape[axis];
    if (begin < -PAD_LIMIT || begin > PAD_LIMIT || end < -PAD_LIMIT || end > PAD_LIMIT)
        return call->host->fail(call, TN_ERROR_RANGE, "pads of %lld and %lld along axis %u",
                                (long long)begin, (long long)end, axis);
    plan->input[axis] = extent;
    plan->begin[axis] = begin;
    plan->low[axis] = begin < 0 ? -begin : 0;
    plan->high[axis] = end < 0 ? extent + end : extent;
    plan->output[axis] = extent + begin + end;
    if (plan->mode == TN_PAD_CONSTANT || plan->high[axis] > plan->low[axis] ||
        plan->output[axis] == 0)
        return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "axis %u has no elements that could be repeated",
                            axis);
}

static tn_status check_value(tn_call *call) {
    const tn_tensor *value = tn_infer_input(call, TN_PAD_CONSTANT_VALUE);
    if (!value || tn_element_count(value) == 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "'constant_value' must be one number");
}

tn_status tn_pad_read(tn_call *call, tn_pad_plan *out_plan) {
    const tn_pad_params *params = call->params;
    int64_t pads[2 * TN_MAX_RANK];
    uint32_t axes[TN_MAX_RANK], pad_count = 0, axis_count = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_pads(call, &pad_count, pads));
    TN_TRY(read_axes(call, &axis_count, axes));
    TN_TRY(check_value(call));
    if (pad_count != 2 * axis_count)
        return call->host->fail(call, TN_ERROR_SHAPE, "'pads' has %u numbers for %u axes",
                                pad_count, axis_count);
    out_plan->rank = call->inputs[0]->rank;
    out_plan->mode = params->mode;
    for (uint32_t i = 0; i < out_plan->rank; i++)
        TN_TRY(tn_pad_plan_axis(call, out_plan, i, 0, 0));
    for (uint32_t i = 0; i < axis_count; i++)
        TN_TRY(tn_pad_plan_axis(call, out_plan, axes[i], pads[i], pads[i + axis_count]));
    return TN_OK;
}

static int64_t modulo(int64_t a, int64_t b) {
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

int64_t tn_pad_source(const tn_pad_plan *plan, uint32_t axis, int64_t position) {
    const int64_t low = plan->low[axis], count = plan->high[axis] - low;
    int64_t at = position - plan->begin[axis] - low;
    if (at >= 0 && at < count) return low + at;
    switch (plan->mode) {
    case TN_PAD_EDGE:
        return at < 0 ? low : low + count - 1;
    case TN_PAD_WRAP:
        return low + modulo(at, count);
    case TN_PAD_REFLECT:
        if (count == 1) return low;
        if (at < 0 && at > -count) return low - at; /* most pads are shorter than the axis */
        if (at >= count && at < 2 * count - 1) return low + 2 * (count - 1) - at;
        at = modulo(at, 2 * (count - 1));
        return low + (at < count ? at : 2 * (count - 1) - at);
    default:
        return -1;
    }
}

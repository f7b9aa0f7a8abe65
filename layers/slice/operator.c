/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slice: the elements start, start + step, ... before end along some axes, as in NumPy: negative
 * positions count from the end, those outside are clamped. Starts, ends and axes are fields before
 * opset 10 and inputs from then on.
 */
#include "slice/slice.h"
#include "kit/operator/moves.h"
#include "kit/operator/physical.h"
#include <tenon/kit/strided.h>
#include "kit/operator/window_facet.h"

typedef struct slice_params {
    uint64_t present;
    tn_i64s starts, ends, axes;
} slice_params;

enum { SLICE_STARTS = 1, SLICE_ENDS = 2, SLICE_AXES = 3, SLICE_STEPS = 4, SLICE_LIMIT = 64 };

static const tn_field slice_1_fields[] = {
    TN_FIELD(slice_params, starts, TN_FIELD_I64S, TN_REQUIRED, NULL, "first positions"),
    TN_FIELD(slice_params, ends, TN_FIELD_I64S, TN_REQUIRED, NULL, "positions after the last"),
    TN_FIELD(slice_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "the axes they speak of; absent: the first ones"),
};

/* The four lists, wherever they come from. */
typedef struct slice_lists {
    uint32_t count;
    int64_t starts[SLICE_LIMIT], ends[SLICE_LIMIT], axes[SLICE_LIMIT], steps[SLICE_LIMIT];
} slice_lists;

/* For each axis of the input: the first element, the step and how many. */
typedef struct slice_plan {
    int64_t start[TN_MAX_RANK], step[TN_MAX_RANK], count[TN_MAX_RANK];
} slice_plan;

static tn_status read_field(tn_call *call, const char *name, const tn_i64s *field,
                            uint32_t expected, int64_t *out_values) {
    if (field->count != expected)
        return call->host->fail(call, TN_ERROR_SHAPE, "'%s' has %llu numbers, 'starts' has %u",
                                name, (unsigned long long)field->count, expected);
    for (uint32_t i = 0; i < expected; i++)
        out_values[i] = field->items[i];
    return TN_OK;
}

static tn_status read_input(tn_call *call, uint32_t input, uint32_t expected, int64_t *out_values) {
    uint32_t count = 0;
    if (!tn_infer_input(call, input) && input >= SLICE_AXES) return TN_OK; /* keep the defaults */
    TN_TRY(tn_infer_integers(call, input, SLICE_LIMIT, out_values, &count));
    if (count == expected) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "'%s' has %u numbers, 'starts' has %u",
                            tn_infer_input_name(call, input), count, expected);
}

static tn_status read_lists(tn_call *call, slice_lists *lists) {
    const slice_params *params = call->params;
    for (uint32_t i = 0; i < SLICE_LIMIT; i++) {
        lists->axes[i] = i;
        lists->steps[i] = 1;
    }
    if (call->op->since_version < 10) {
        if (params->starts.count > SLICE_LIMIT)
            return call->host->fail(call, TN_ERROR_SHAPE, "'starts' has too many numbers");
        lists->count = (uint32_t)params->starts.count;
        TN_TRY(read_field(call, "starts", &params->starts, lists->count, lists->starts));
        TN_TRY(read_field(call, "ends", &params->ends, lists->count, lists->ends));
        if (params->axes.count == 0) return TN_OK;
        return read_field(call, "axes", &params->axes, lists->count, lists->axes);
    }
    TN_TRY(tn_infer_integers(call, SLICE_STARTS, SLICE_LIMIT, lists->starts, &lists->count));
    TN_TRY(read_input(call, SLICE_ENDS, lists->count, lists->ends));
    TN_TRY(read_input(call, SLICE_AXES, lists->count, lists->axes));
    return read_input(call, SLICE_STEPS, lists->count, lists->steps);
}

/* A position into low..high; negative ones count from the end. */
static int64_t clamp(int64_t position, int64_t extent, int64_t low, int64_t high) {
    if (position < 0) position += extent;
    return position < low ? low : position > high ? high : position;
}

static void plan_axis(slice_plan *plan, uint32_t axis, int64_t start, int64_t end, int64_t step,
                      int64_t extent) {
    const bool is_forward = step > 0;
    if (step == INT64_MIN) step++; /* as far, and has an opposite */
    start = is_forward ? clamp(start, extent, 0, extent) : clamp(start, extent, -1, extent - 1);
    end = is_forward ? clamp(end, extent, 0, extent) : clamp(end, extent, -1, extent - 1);
    const int64_t span = is_forward ? end - start : start - end;
    plan->count[axis] = span <= 0 ? 0 : (span - 1) / (is_forward ? step : -step) + 1;
    plan->start[axis] = plan->count[axis] ? start : 0;
    plan->step[axis] = plan->count[axis] > 1 ? step : 1;
}

static tn_status read_plan(tn_call *call, slice_plan *plan) {
    slice_lists lists;
    uint32_t mask = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[0];
    TN_TRY(read_lists(call, &lists));
    TN_TRY(tn_infer_axes(call, "'axes'", lists.count, lists.axes, data->rank, &mask));
    for (uint32_t i = 0; i < data->rank; i++)
        plan_axis(plan, i, 0, data->shape[i], 1, data->shape[i]);
    for (uint32_t i = 0; i < lists.count; i++) {
        uint32_t axis = 0;
        TN_TRY(tn_infer_axis(call, "'axes'", lists.axes[i], data->rank, &axis));
        if (lists.steps[i] == 0)
            return call->host->fail(call, TN_ERROR_RANGE, "the step along axis %u is zero", axis);
        plan_axis(plan, axis, lists.starts[i], lists.ends[i], lists.steps[i], data->shape[axis]);
    }
    return TN_OK;
}

static tn_status slice_infer(tn_call *call) {
    slice_plan plan;
    TN_TRY(read_plan(call, &plan));
    return tn_infer_set_shape(call, 0, call->inputs[0]->rank, plan.count);
}

/* Linear or with the channels last: the elements are moved in their own layout. */
tn_status tn_slice_move(tn_call *call, tn_region_mover mover) {
    const tn_tensor *data = call->inputs[0], *output = call->outputs[0];
    int64_t strides[TN_MAX_RANK + 1], offset = 0;
    slice_plan plan;
    tn_physical physical;
    tn_region region;
    TN_TRY(read_plan(call, &plan));
    if (tn_element_count(output) == 0) return TN_OK;
    tn_physical_init(&physical, output->format, output->rank, output->shape);
    tn_region_init(&region, physical.rank, physical.shape, output->type);
    tn_strided_physical(data, strides);
    tn_strided_physical(output, region.to_strides);
    for (uint32_t i = 0; i < data->rank; i++) {
        const uint32_t at = physical.positions[i];
        offset += plan.start[i] * strides[at];
        region.from_strides[at] = strides[at] * plan.step[i];
    }
    return mover(call, &region, output->data,
                 (const char *)data->data + offset * (int64_t)region.element_bytes);
}

/* A window of the data, where every step is 1. */
static tn_status slice_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    tn_view *view = tn_window_facet(name, out_facet);
    slice_plan plan;
    if (!view || input != 0) return TN_ERROR_UNSUPPORTED;
    TN_TRY(read_plan(call, &plan));
    view->kind = TN_VIEW_OF_INPUT;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++) {
        if (plan.step[i] != 1) return TN_ERROR_UNSUPPORTED;
        view->offsets[i] = plan.start[i];
    }
    return TN_OK;
}

TN_MOVES(slice, tn_slice_move)

static const tn_port slice_1_inputs[] = {TN_PORT("data", "T:any|string", 0, "any tensor")};
static const tn_port slice_10_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
    TN_PORT("starts", "Tind:i64|i32", TN_PORT_VALUE_NEEDED, "first positions"),
    TN_PORT("ends", "Tind", TN_PORT_VALUE_NEEDED, "positions after the last"),
    TN_PORT("axes", "Tind", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "the axes they speak of; absent: the first ones"),
    TN_PORT("steps", "Tind", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "from one element to the next; negative: backwards; absent: 1"),
};
static const tn_port slice_outputs[] = {TN_PORT("output", "T", 0, "the slice")};
static const char *const slice_1_cases[] = {
    "starts=[1] ends=[3] | data=f32[5,2]",
    "starts=[0,-2] ends=[9,-1] axes=[2,0] | data=i16[3,4,5]",
    "starts=[3] ends=[1] | data=f32[5,2]",
    "starts=[1] ends=[3] axes=[1] | data=string[2,3]{a,b,c,d,e,f} | output=string[2,2]{b,c,e,f}",
};
static const char *const slice_10_cases[] = {
    "| data=f32[5,2] starts=i64[1]{1} ends=i64[1]{3}",
    "| data=f32[20,10,5] starts=i64[2]{0,0} ends=i64[2]{3,10} axes=i64[2]{0,1} steps=i64[2]{1,1}",
    "| data=f32[20,5] starts=i32[2]{20,0} ends=i32[2]{-100,5} axes=i32[2]{0,1} steps=i32[2]{-3,2}",
    "| data=u8[7] starts=i64[1]{-1} ends=i64[1]{-9223372036854775807} axes=i64[1]{0} "
    "steps=i64[1]{-1}",
    "| data=f64[3,4] starts=i64[1]{0} ends=i64[1]{9223372036854775807} axes=i64[1]{-1} "
    "steps=i64[1]{9223372036854775807}",
    "| data=f16[3,4] starts=i64[1]{9} ends=i64[1]{12}",
    "| data=string[2,3]{a,b,c,d,e,f} starts=i64[1]{-1} ends=i64[1]{-9} axes=i64[1]{1} "
    "steps=i64[1]{-2} | output=string[2,2]{c,a,f,d}",
    "| data=i64[0,4] starts=i64[1]{-1} ends=i64[1]{-5} axes=i64[1]{0} steps=i64[1]{-1}",
    "| data=f32[1,64,56,56] starts=i64[2]{1,1} ends=i64[2]{-1,-1} axes=i64[2]{2,3}",
    "| data=f32[1,64,56,56] starts=i64[2]{0,0} ends=i64[2]{56,56} axes=i64[2]{2,3} "
    "steps=i64[2]{2,2}",
};

TN_OPERATOR_VERSION(slice, "", "Slice", 1, "A part of a tensor, by fields.",
                    TN_FIELDS(slice_params, slice_1_fields), TN_INPUTS(slice_1_inputs),
                    TN_OUTPUTS(slice_outputs), TN_CASES(slice_1_cases),
                    .traits = TN_OPERATOR_SELECTS, .facet = slice_facet);
TN_OPERATOR_VERSION(slice, "", "Slice", 10, "A part of a tensor, by inputs.", TN_NO_FIELDS,
                    TN_INPUTS(slice_10_inputs), TN_OUTPUTS(slice_outputs), TN_CASES(slice_10_cases),
                    .traits = TN_OPERATOR_SELECTS, .facet = slice_facet);

TN_MOVE_KERNELS(slice, "Slice");

TN_LAYER(slice, TN_OPERATORS(&slice_1, &slice_10), TN_KERNELS(&slice_runs, &slice_bytes));

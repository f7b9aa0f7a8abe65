/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CenterCropPad: axes cut to given extents, or padded with zeros to them, on both sides alike; an
 * odd element is taken off, or put, at the end.
 */
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "pad/pad.h"

typedef struct center_params {
    uint64_t present;
    tn_i64s axes;
} center_params;

enum { INPUT = 0, SHAPE = 1, AXES_PRESENT = 1 };

static const tn_field center_fields[] = {
    TN_FIELD(center_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "the axes that shape speaks of; absent: all; negative: from the end"),
};

/* The extents that the output shall have. */
static tn_status read_extents(tn_call *call, int64_t *out_extents) {
    const center_params *params = call->params;
    const bool has_axes = params->present & AXES_PRESENT;
    const tn_tensor *input = call->inputs[INPUT];
    const uint64_t wanted = has_axes ? params->axes.count : input->rank;
    int64_t shape[TN_MAX_RANK];
    uint32_t count = 0, mask = 0;
    TN_TRY(tn_infer_integers(call, SHAPE, TN_MAX_RANK, shape, &count));
    if (count != wanted)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'shape' has %u extents for %llu axes",
                                count, (unsigned long long)wanted);
    if (has_axes)
        TN_TRY(tn_infer_axes(call, "field 'axes'", count, params->axes.items, input->rank, &mask));
    for (uint32_t i = 0; i < input->rank; i++)
        out_extents[i] = input->shape[i];
    for (uint32_t i = 0; i < count; i++) {
        const int64_t axis = has_axes ? params->axes.items[i] : i;
        if (shape[i] < 0)
            return call->host->fail(call, TN_ERROR_RANGE, "input 'shape' has the extent %lld",
                                    (long long)shape[i]);
        out_extents[axis < 0 ? axis + input->rank : axis] = shape[i];
    }
    return TN_OK;
}

tn_status tn_center_crop_pad_read(tn_call *call, tn_pad_plan *out_plan) {
    int64_t extents[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, INPUT, 0, TN_MAX_RANK));
    TN_TRY(read_extents(call, extents));
    const tn_tensor *input = call->inputs[INPUT];
    *out_plan = (tn_pad_plan){.rank = input->rank, .mode = TN_PAD_CONSTANT};
    for (uint32_t i = 0; i < input->rank; i++) {
        const int64_t more = extents[i] - input->shape[i], begin = more / 2;
        TN_TRY(tn_pad_plan_axis(call, out_plan, i, begin, more - begin));
    }
    return TN_OK;
}

static tn_status center_infer(tn_call *call) {
    tn_pad_plan plan;
    TN_TRY(tn_center_crop_pad_read(call, &plan));
    return tn_infer_set_shape(call, 0, plan.rank, plan.output);
}

static tn_status move(tn_call *call, bool is_parallel) {
    static const uint8_t zero[8] = {0};
    const tn_tensor *input = call->inputs[INPUT];
    tn_pad_plan plan;
    TN_TRY(tn_center_crop_pad_read(call, &plan));
    return tn_pad_move(call, &plan, input->data, zero, tn_element_bytes(input->type), is_parallel);
}

TN_SERIAL_AND_PARALLEL(center, move)

static const tn_port center_inputs[] = {
    TN_PORT("input_data", "T:any", 0, "any tensor"),
    TN_PORT("shape", "i64|i32", TN_PORT_VALUE_NEEDED, "extents of the output"),
};
static const tn_port center_outputs[] = {
    TN_PORT("output_data", "T", 0, "the middle of the input, or the input amid zeros")};
static const char *const center_cases[] = {
    "| input_data=f32[20,10,3] shape=i64[3]{10,7,3}",
    "| input_data=f32[5] shape=i64[1]{2} | output_data=f32[2]",
    "| input_data=i32[5]{1,2,3,4,5} shape=i64[1]{2} | output_data=i32[2]{2,3}",
    "| input_data=i32[2]{1,2} shape=i64[1]{5} | output_data=i32[5]{0,1,2,0,0}",
    "| input_data=u8[3,4] shape=i32[2]{6,1}",
    "axes=[-1,0] | input_data=f16[3,2,5] shape=i64[2]{8,2}",
    "axes=[1] | input_data=bool[2,2] shape=i64[1]{0}",
    "| input_data=f64[] shape=i64[0]",
    "| input_data=i64[0,3] shape=i64[2]{2,3}",
    "| input_data=f32[1,3,70,90] shape=i64[4]{1,3,64,96}",
};

const tn_operator tn_center_crop_pad =
    TN_OPERATOR_TABLE(center, "", "CenterCropPad", 18, "Cuts or pads axes on both sides alike.",
                      TN_FIELDS(center_params, center_fields));
const tn_kernel tn_center_crop_pad_runs = TN_REGION_KERNEL("CenterCropPad", center_run);

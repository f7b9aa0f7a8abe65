/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape, a tensor's extents, or a slice of them, as a vector of int64; and Size, how many elements
 * it has. Neither reads any of them.
 */
#include "kit/operator/layer.h"

typedef struct shape_params {
    uint64_t present;
    int64_t start, end;
} shape_params;

enum { SHAPE_END_PRESENT = 2 };

static const tn_field shape_fields[] = {
    TN_FIELD(shape_params, start, TN_FIELD_I64, TN_OPTIONAL, "0",
             "first axis; negative: from the end; clamped to the rank"),
    TN_FIELD(shape_params, end, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "axis after the last; negative: from the end; clamped; absent: the rank"),
};

static uint32_t clamp_axis(int64_t axis, uint32_t rank) {
    if (axis < 0) axis += rank;
    if (axis < 0) return 0;
    return axis > (int64_t)rank ? rank : (uint32_t)axis;
}

/* The axes begin..end-1 that are asked for. */
static void find_axes(const tn_call *call, uint32_t *out_begin, uint32_t *out_end) {
    const shape_params *params = call->params;
    uint32_t rank = call->inputs[0]->rank;
    uint32_t begin = clamp_axis(params->start, rank);
    uint32_t end = params->present & SHAPE_END_PRESENT ? clamp_axis(params->end, rank) : rank;
    *out_begin = begin;
    *out_end = end > begin ? end : begin;
}

static tn_status shape_infer(tn_call *call) {
    uint32_t begin, end;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    find_axes(call, &begin, &end);
    int64_t count = (int64_t)end - (int64_t)begin;
    return tn_infer_set_shape(call, 0, 1, &count);
}

static tn_status shape_reference(tn_call *call) {
    uint32_t begin, end;
    find_axes(call, &begin, &end);
    int64_t *output = call->outputs[0]->data;
    for (uint32_t i = begin; i < end; i++)
        output[i - begin] = call->inputs[0]->shape[i];
    return TN_OK;
}

static const tn_port data_port[] = {
    TN_PORT("data", "any", TN_PORT_SHAPE_ONLY, "any tensor; its elements are not read"),
};
static const tn_port shape_outputs[] = {
    TN_PORT("shape", "i64", 0, "extents of the axes start..end-1")};
static const char *const shape_cases[] = {
    "| data=f32[2,3,4,5]",
    "| data=f32[]",
    "start=1 | data=i8[2,3,4]",
    "end=-1 | data=f16[2,3,4]",
    "start=-9 end=9 | data=f32[0,7]",
    "start=2 end=1 | data=f32[2,3,4]",
};

TN_OPERATOR_VERSION(shape, "", "Shape", 1, "The shape of a tensor, or a slice of it.",
                    TN_FIELDS(shape_params, shape_fields), TN_INPUTS(data_port),
                    TN_OUTPUTS(shape_outputs), TN_CASES(shape_cases));

static tn_status size_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    return tn_infer_set_shape(call, 0, 0, NULL);
}

static tn_status size_reference(tn_call *call) {
    *(int64_t *)call->outputs[0]->data = tn_element_count(call->inputs[0]);
    return TN_OK;
}

static const tn_port size_outputs[] = {TN_PORT("size", "i64", 0, "the number of its elements")};
static const char *const size_cases[] = {
    "| data=f32[2,3,4,5]",
    "| data=f32[]",
    "| data=i8[2,0,4]",
    "| data=bool[7]",
};

TN_OPERATOR_VERSION(size, "", "Size", 1, "The number of a tensor's elements.", TN_NO_FIELDS,
                    TN_INPUTS(data_port), TN_OUTPUTS(size_outputs), TN_CASES(size_cases));

TN_LAYER_WITHOUT_KERNELS(shape, TN_OPERATORS(&shape_1, &size_1));

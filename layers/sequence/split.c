/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SplitToSequence: parts of a tensor along an axis: of the extents that `split` lists, all of the
 * one that it is as a scalar (the last may be smaller), or, without it, of 1, the axis then kept or
 * not.
 */
#include "sequence.h"

#include <string.h>

typedef struct split_params {
    uint64_t present;
    int64_t axis;
    bool keepdims;
} split_params;

/* How the axis is split. */
typedef struct split_plan {
    uint32_t axis;
    int64_t extent;
    const tn_tensor *sizes; /* a list; null: all parts have one size */
    int64_t size;
    bool is_squeezed;
} split_plan;

static tn_status read_plan(tn_call *call, split_plan *plan) {
    const split_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *split = tn_infer_input(call, 1);
    *plan = (split_plan){.size = 1, .is_squeezed = !split && !params->keepdims};
    TN_TRY(tn_infer_axis(call, "axis", params->axis, x->rank, &plan->axis));
    plan->extent = x->shape[plan->axis];
    if (!split) return TN_OK;
    TN_TRY(tn_infer_require_rank(call, 1, 0, 1));
    if (split->rank == 1) {
        plan->sizes = split;
        return TN_OK;
    }
    plan->size = tn_element_i64(split, 0);
    if (plan->size > 0) return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE, "input 'split' is %lld: expected at least 1",
                            (long long)plan->size);
}

static tn_status check_sizes(tn_call *call, const split_plan *plan) {
    int64_t sum = 0;
    for (int64_t i = 0; i < plan->sizes->shape[0]; i++) {
        const int64_t size = tn_element_i64(plan->sizes, i);
        if (size < 0 || !tn_infer_add(sum, size, &sum) || sum > plan->extent)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "size %lld of 'split' is %lld: the axis has %lld elements",
                                    (long long)i, (long long)size, (long long)plan->extent);
    }
    if (sum == plan->extent) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "the sizes in 'split' do not sum to the axis's extent %lld",
                            (long long)plan->extent);
}

/* The size that all parts have, -1: they differ, or may. */
static int64_t common_size(const split_plan *plan) {
    if (!plan->sizes) return plan->extent % plan->size == 0 ? plan->size : -1;
    const int64_t count = plan->sizes->shape[0];
    const int64_t first = count > 0 ? tn_element_i64(plan->sizes, 0) : -1;
    for (int64_t i = 1; i < count; i++)
        if (tn_element_i64(plan->sizes, i) != first) return -1;
    return first;
}

/* The shape of a part; answers its rank. */
static uint32_t part_shape(const tn_tensor *x, const split_plan *plan, int64_t size,
                           int64_t *extents) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != plan->axis || !plan->is_squeezed)
            extents[rank++] = i == plan->axis ? size : x->shape[i];
    return rank;
}

/* Before a run has computed `split`: a part is as long as nobody knows. */
static tn_status infer_without_sizes(tn_call *call) {
    const split_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    split_plan plan = {0};
    TN_TRY(tn_infer_axis(call, "axis", params->axis, x->rank, &plan.axis));
    call->outputs[0]->rank = part_shape(x, &plan, -1, call->outputs[0]->shape);
    return TN_OK;
}

static tn_status split_infer(tn_call *call) {
    const tn_tensor *split = tn_infer_input(call, 1);
    split_plan plan;
    if (split && !split->data) return infer_without_sizes(call);
    TN_TRY(read_plan(call, &plan));
    if (plan.sizes) TN_TRY(check_sizes(call, &plan));
    tn_tensor *output = call->outputs[0];
    output->rank = part_shape(call->inputs[0], &plan, common_size(&plan), output->shape);
    return TN_OK;
}

static tn_status add_part(tn_call *call, const split_plan *plan, int64_t begin, int64_t size) {
    const tn_tensor *x = call->inputs[0];
    int64_t extents[TN_MAX_RANK];
    tn_block block = {0};
    const uint32_t rank = part_shape(x, plan, size, extents);
    if (x->bytes > 0 && size > 0) {
        block.rows = (uint64_t)tn_infer_product(x->shape, 0, plan->axis);
        block.pitch = x->bytes / block.rows;
        const uint64_t each = block.pitch / (uint64_t)plan->extent;
        block.offset = (uint64_t)begin * each;
        block.bytes = (uint64_t)size * each;
    }
    return tn_sequence_add_elements(call, call->outputs[0], x, rank, extents, &block);
}

static tn_status split_reference(tn_call *call) {
    split_plan plan;
    int64_t begin = 0;
    TN_TRY(read_plan(call, &plan));
    if (plan.sizes) TN_TRY(check_sizes(call, &plan));
    for (int64_t i = 0; plan.sizes ? i < plan.sizes->shape[0] : begin < plan.extent; i++) {
        const int64_t left = plan.extent - begin;
        const int64_t size = plan.sizes         ? tn_element_i64(plan.sizes, i)
                             : plan.size < left ? plan.size
                                                : left;
        TN_TRY(add_part(call, &plan, begin, size));
        begin += size;
    }
    return TN_OK;
}

static const tn_field split_fields[] = {
    TN_FIELD(split_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",
             "along which it is split; negative: from the end"),
    TN_FIELD(split_params, keepdims, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the axis stays, without 'split'"),
};
static const tn_port split_inputs[] = {
    TN_PORT("input", "T:any|string", 0, "what is split"),
    TN_PORT("split", "i32|i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "sizes of the parts, or the one of all; absent: 1"),
};
static const tn_port split_outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "the parts")};
static const char *const split_cases[] = {
    "| input=f32[5,2] split=i64[]{2}",    "axis=-1 | input=f32[2,6] split=i64[3]{1,2,3}",
    "axis=1 keepdims=0 | input=i64[2,3]", "| input=f32[3]",
    "| input=u8[4] split=i32[2]{4,0}",    "axis=1 | input=string[2,3] split=i64[]{2}",
};
const tn_operator tn_sequence_split =
    TN_OPERATOR_TABLE(split, "", "SplitToSequence", 11, "A sequence of the parts of a tensor.",
                      TN_FIELDS(split_params, split_fields));

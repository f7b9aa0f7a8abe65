/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split: a tensor in parts along an axis. The parts' sizes are a field before opset 13 and an input
 * from then on; without them the parts are equal, and from opset 18 on the last one may be smaller.
 */
#include "split/split.h"
#include "kit/operator/moves.h"
#include "kit/operator/physical.h"
#include <tenon/kit/strided.h>
#include "kit/operator/window_facet.h"

typedef struct split_params {
    uint64_t present;
    int64_t axis;
    tn_i64s split;       /* before opset 13 */
    int64_t num_outputs; /* from opset 18 on */
} split_params;

enum { SPLIT_SIZES = 1, SPLIT_NUM_OUTPUTS_PRESENT = 2, SPLIT_MAXIMUM_PARTS = 65536 };

#define FIELD_AXIS                                                                                 \
    TN_FIELD(split_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",                                   \
             "axis that is split; negative: from the end")
static const tn_field split_2_fields[] = {
    FIELD_AXIS,
    TN_FIELD(split_params, split, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "extents of the parts; absent: all equal"),
};
static const tn_field split_13_fields[] = {FIELD_AXIS};
static const tn_field split_18_fields[] = {
    FIELD_AXIS,
    TN_FIELD_RANGE(split_params, num_outputs, TN_FIELD_I64, TN_OPTIONAL, NULL, 1,
                   SPLIT_MAXIMUM_PARTS, "how many parts; the last one may be smaller"),
};

/* How an axis is split: by a list of sizes, or in parts of one size. */
typedef struct split_plan {
    uint32_t axis;
    int64_t extent;
    bool is_listed;
    int64_t size;         /* of all parts but the last; not listed */
    const int64_t *sizes; /* listed */
} split_plan;

static int64_t part_size(const split_plan *plan, uint32_t part, int64_t begin) {
    if (plan->is_listed) return plan->sizes[part];
    return plan->extent - begin < plan->size ? plan->extent - begin : plan->size;
}

static tn_status check_sizes(tn_call *call, uint64_t count, const int64_t *sizes, int64_t extent) {
    int64_t sum = 0;
    if (count != call->output_count)
        return call->host->fail(call, TN_ERROR_SHAPE, "'split' has %llu sizes for %u outputs",
                                (unsigned long long)count, call->output_count);
    for (uint64_t i = 0; i < count; i++)
        if (sizes[i] < 0 || !tn_infer_add(sum, sizes[i], &sum)) sum = -1;
    if (sum == extent) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "the sizes in 'split' do not sum to the axis's extent %lld",
                            (long long)extent);
}

static tn_status plan_equal(tn_call *call, split_plan *plan) {
    const split_params *params = call->params;
    const int64_t count = call->output_count, extent = plan->extent;
    if (call->op->since_version < 18 && extent % count != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "an axis of %lld elements cannot be split into %lld equal parts",
                                (long long)extent, (long long)count);
    if (call->op->since_version >= 18 && (params->present & SPLIT_NUM_OUTPUTS_PRESENT) &&
        params->num_outputs != count)
        return call->host->fail(call, TN_ERROR_SHAPE, "num_outputs is %lld, but there are %lld",
                                (long long)params->num_outputs, (long long)count);
    plan->size = extent / count + (extent % count != 0);
    if (extent > 0 && plan->size * (count - 1) > extent)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "an axis of %lld elements cannot be split into %lld parts of %lld",
                                (long long)extent, (long long)count, (long long)plan->size);
    return TN_OK;
}

static tn_status read_plan(tn_call *call, split_plan *plan) {
    const split_params *params = call->params;
    const tn_tensor *sizes = tn_infer_input(call, SPLIT_SIZES);
    memset(plan, 0, sizeof(*plan));
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    const tn_tensor *input = call->inputs[0];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, input->rank, &plan->axis));
    plan->extent = input->shape[plan->axis];
    if (call->output_count == 0)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "there are no outputs");
    uint64_t count = 0;
    if (sizes) {
        TN_TRY(tn_infer_require_rank(call, SPLIT_SIZES, 1, 1));
        if (!sizes->data)
            return call->host->fail(call, TN_ERROR_STATE,
                                    "the value of input 'split' is not known");
        count = (uint64_t)sizes->shape[0];
        plan->sizes = sizes->data;
    } else if (call->op->since_version < 13) {
        count = params->split.count;
        plan->sizes = params->split.items;
    }
    plan->is_listed = count > 0;
    if (plan->is_listed) return check_sizes(call, count, plan->sizes, plan->extent);
    return plan_equal(call, plan);
}

static tn_status split_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK], begin = 0;
    split_plan plan;
    TN_TRY(read_plan(call, &plan));
    const tn_tensor *input = call->inputs[0];
    memcpy(shape, input->shape, input->rank * sizeof(*shape));
    for (uint32_t k = 0; k < call->output_count; k++) {
        shape[plan.axis] = part_size(&plan, k, begin);
        begin += shape[plan.axis];
        TN_TRY(tn_infer_set_shape(call, k, input->rank, shape));
    }
    return TN_OK;
}

/* In any format: the parts are moved in their own layout. */
tn_status tn_split_move(tn_call *call, tn_region_mover mover) {
    split_plan plan;
    int64_t strides[TN_MAX_RANK + 1], begin = 0;
    tn_physical whole;
    TN_TRY(read_plan(call, &plan));
    const tn_tensor *input = call->inputs[0];
    const int64_t bytes = (int64_t)tn_element_bytes(input->type);
    tn_physical_init(&whole, input->format, input->rank, input->shape);
    tn_strided_physical(input, strides);
    const int64_t block = plan.axis == 1 ? tn_physical_block(input->format) : 0;
    const int64_t step = strides[whole.positions[plan.axis]];
    for (uint32_t k = 0; k < call->output_count; k++) {
        const tn_tensor *output = call->outputs[k];
        const int64_t size = part_size(&plan, k, begin);
        if (output && tn_element_count(output) > 0) {
            const int64_t offset = (block ? begin / block : begin) * step * bytes;
            tn_physical part;
            tn_region region;
            tn_physical_init(&part, input->format, output->rank, output->shape);
            tn_region_init(&region, part.rank, part.shape, output->type);
            memcpy(region.from_strides, strides, part.rank * sizeof(*strides));
            tn_strided_physical(output, region.to_strides);
            TN_TRY(mover(call, &region, output->data, (const char *)input->data + offset));
        }
        begin += size;
    }
    return TN_OK;
}

/* Of blocked channels a part begins where a block begins. */
static tn_status split_accepts(tn_call *call) {
    const int64_t block = tn_physical_block(call->inputs[0]->format);
    split_plan plan;
    int64_t begin = 0;
    if (block == 0) return TN_OK;
    TN_TRY(read_plan(call, &plan));
    for (uint32_t k = 0; plan.axis == 1 && k < call->output_count; k++) {
        if (begin % block != 0) return TN_ERROR_UNSUPPORTED;
        begin += part_size(&plan, k, begin);
    }
    return TN_OK;
}

/* Each part is a window of the input. */
static tn_status split_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    tn_view *view = tn_window_facet(name, out_facet);
    split_plan plan;
    if (!view || input != 0) return TN_ERROR_UNSUPPORTED;
    TN_TRY(read_plan(call, &plan));
    view->kind = TN_VIEW_OF_INPUT;
    int64_t begin = 0;
    for (uint32_t k = 0; k < view->output; k++)
        begin += part_size(&plan, k, begin);
    view->offsets[plan.axis] = begin;
    return TN_OK;
}

TN_MOVES(split, tn_split_move)

static const tn_port split_2_inputs[] = {TN_PORT("input", "T:any|string", 0, "any tensor")};
static const tn_port split_13_inputs[] = {
    TN_PORT("input", "T:any|string", 0, "any tensor"),
    TN_PORT("split", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "extents of the parts; absent: all equal"),
};
static const tn_port split_outputs[] = {
    {"outputs", "T", "the parts", TN_PORT_VARIADIC, 0, 1, 0},
};
static const char *const split_2_cases[] = {
    "| input=f32[6]",
    "axis=1 split=[4] | input=f32[2,4,3]",
    "| input=string[2]{a,b}",
    "axis=-1 | input=i8[0,4]",
};
static const char *const split_13_cases[] = {
    "axis=1 | input=f32[2,4]",
    "axis=-2 | input=f16[2,5,3] split=i64[1]{5}",
    "| input=bool[0]",
    "axis=1 | input=f32[1,96,28,28]",
};
static const char *const split_18_cases[] = {
    "num_outputs=1 axis=1 | input=f32[2,4]",
    "axis=-2 | input=f16[2,5,3] split=i64[1]{5}",
    "num_outputs=1 | input=u8[7]",
    "axis=1 | input=f32[1,96,28,28]",
};

#define SPLIT(version, input_table)                                                                \
    TN_OPERATOR_VERSION(split, "", "Split", version, "Splits a tensor along an axis.",             \
                        TN_FIELDS(split_params, split_##version##_fields), TN_INPUTS(input_table), \
                        TN_OUTPUTS(split_outputs), TN_CASES(split_##version##_cases),              \
                        .traits = TN_OPERATOR_SELECTS, .facet = split_facet)
SPLIT(2, split_2_inputs);
SPLIT(13, split_13_inputs);
SPLIT(18, split_13_inputs);

static const char *const split_combinations[] = {
    "*:linear|nhwc|c16|c8:strided, i64? -> *:linear|nhwc|c16|c8:strided..."};
static const tn_kernel split_runs = {
    TN_KERNEL_BEGIN("cpu", "", "Split", "runs", 2, "Runs of elements copied on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
    TN_COMBINATIONS(split_combinations),
    .accepts = split_accepts,
    .run = split_run,
};

static tn_status split_bytes_accepts(tn_call *call) {
    TN_TRY(tn_region_bytes_accepts(call));
    return split_accepts(call);
}

static const char *const split_bytes_combinations[] = {"qi8, i64? -> qi8...",
                                                       "qi8:nhwc, i64? -> qi8:nhwc..."};
static const tn_kernel split_bytes =
    TN_REGION_BYTES_KERNEL("Split", split_bytes_combinations, split_bytes_accepts, split_run);
TN_LAYER(split, TN_OPERATORS(&split_2, &split_13, &split_18),
         TN_KERNELS(&split_runs, &split_bytes));

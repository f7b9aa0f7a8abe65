/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterElements and ScatterND on CUDA, by kit/cuda/any/index.cu; TensorScatter by step/step.cu.
 */
#include "kit/cuda/any/index_job.h"
#include "kit/cuda/any/step/step_job.h"
#include "kit/index/index.h"
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

enum { DATA = TN_INDEX_DATA, INDICES = TN_INDEX_INDICES, UPDATES = 2 };

/* The kernel's own: what a version of the operator lacks has its default. */
typedef struct scatter_params {
    uint64_t present;
    int64_t axis;
    uint32_t reduction;
} scatter_params;
#define FIELD_AXIS                                                                                 \
    TN_FIELD(scatter_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",                                 \
             "the axis that indices speak of; negative: from the end")
#define FIELD_REDUCTION(choices)                                                                   \
    TN_FIELD_CHOICE(scatter_params, reduction, TN_FIELD_ENUM, TN_OPTIONAL, "none", choices,        \
                    "how an update meets the element that is there")
static const tn_field three_fields[] = {FIELD_AXIS, FIELD_REDUCTION("none|add|mul")};
static const tn_field five_fields[] = {FIELD_AXIS, FIELD_REDUCTION("none|add|mul|max|min")};

static tn_cuda_index_job begin(const tn_call *call) {
    const scatter_params *params = call->kernel_params;
    const tn_tensor *data = call->inputs[DATA], *y = call->outputs[0];
    return (tn_cuda_index_job){.from = call->inputs[UPDATES]->data,
                               .indices = call->inputs[INDICES]->data,
                               .to = y->data,
                               .index_type = call->inputs[INDICES]->type,
                               .type = data->type,
                               .width = 1,
                               .reduction = params->reduction,
                               .fault = tn_cuda_fault_of(call),
                               .data = data->data,
                               .data_bytes =
                                   tn_element_count(y) * (int64_t)tn_element_bytes(y->type)};
}

static tn_status scatter_elements_run(tn_call *call) {
    const scatter_params *params = call->kernel_params;
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    tn_cuda_index_job job = begin(call);
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    job.bytes = (uint32_t)tn_element_bytes(data->type);
    job.units = tn_divider_make(1);
    (void)tn_cuda_box_init(&job.rows, indices->rank, indices->shape); /* none: a copy */
    tn_region_strides(data->rank, data->shape, job.rows.steps[0]);
    tn_region_strides(indices->rank, indices->shape, job.rows.steps[1]);
    job.extents[0] = data->shape[axis];
    job.steps[0] = job.rows.steps[0][axis];
    job.rows.steps[0][axis] = 0;
    return tn_cuda_any_run(call, tn_cuda_scatter_launch, &job);
}

static tn_status scatter_nd_run(tn_call *call) {
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    const uint32_t element = (uint32_t)tn_element_bytes(data->type);
    int64_t strides[TN_MAX_RANK];
    tn_cuda_index_job job = begin(call);
    TN_TRY(tn_index_tuple_width(call, 0, &job.width));
    const int64_t rows = tn_infer_product(indices->shape, 0, indices->rank - 1);
    const int64_t slice = tn_infer_product(data->shape, job.width, data->rank);
    if (job.reduction == 0 && slice > 0) {
        tn_cuda_index_pieces(&job, slice * element, 1);
    } else {
        job.bytes = element;
        job.units = tn_divider_make(slice > 0 ? (uint32_t)slice : 1);
    }
    if (slice > 0) (void)tn_cuda_box_init(&job.rows, 1, &rows); /* none: a copy */
    tn_region_strides(data->rank, data->shape, strides);
    for (uint32_t k = 0; k < job.width; k++) {
        job.extents[k] = data->shape[k];
        job.steps[k] = strides[k] * element / job.bytes;
    }
    job.rows.steps[1][0] = job.width;
    return tn_cuda_any_run(call, tn_cuda_scatter_launch, &job);
}

/* ----------------------------------------------------------------------------------------------
 * TensorScatter */

typedef struct cache_params {
    uint64_t present;
    int64_t axis;
    uint32_t mode;
} cache_params;
static const tn_field cache_fields[] = {
    TN_FIELD(cache_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-2",
             "axis of the positions, not the first one; negative: from the end"),
    TN_FIELD_CHOICE(cache_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "linear", "linear|circular",
                    "circular: positions past the end go on at the beginning")};

static tn_status tensor_scatter_run(tn_call *call) {
    const cache_params *params = call->kernel_params;
    const tn_tensor *past = call->inputs[0], *update = call->inputs[1];
    const tn_tensor *indices = tn_infer_input(call, 2), *present = call->outputs[0];
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, past->rank, &axis));
    if (tn_element_count(present) == 0) return TN_OK;
    const tn_cuda_cache_job job = {.past = past->data,
                                   .update = update->data,
                                   .indices = indices ? indices->data : NULL,
                                   .present = present->data,
                                   .bytes = (uint32_t)tn_element_bytes(past->type),
                                   .past_bytes = tn_element_count(past) *
                                                 (int64_t)tn_element_bytes(past->type),
                                   .prefixes = tn_infer_product(past->shape, 0, axis),
                                   .a_sample = tn_infer_product(past->shape, 1, axis),
                                   .positions = past->shape[axis],
                                   .updates = update->shape[axis],
                                   .inner = tn_infer_product(past->shape, axis + 1, past->rank),
                                   .is_circular = params->mode == 1,
                                   .fault = tn_cuda_fault_of(call)};
    return tn_cuda_any_run(call, tn_cuda_cache_launch, &job);
}

static const char *const cache_combinations[] = {"*, *, i64? -> *", "f16, f16, i64? -> f16",
                                                 "bf16, bf16, i64? -> bf16"};
TN_CUDA_ANY_KERNEL(tensor_scatter, "", "TensorScatter", "elements",
                   "An element of the update a thread, on the cache's own memory where nobody else "
                   "reads it.",
                   TN_COMBINATIONS(cache_combinations), .accepts = tn_cuda_any_accepts,
                   .open = tn_cuda_fault_open, .close = tn_cuda_fault_close,
                   .verify = tn_cuda_fault_verify, .run = tensor_scatter_run,
                   TN_FIELDS(cache_params, cache_fields));

/* ----------------------------------------------------------------------------------------------
 * tables */

static const char *const elements_combinations[] = {"*, i64|i32, * -> *"};
static const char *const nd_combinations[] = {"*, i64, * -> *"};

/* Not deterministic: sums of floats at one position come in any order. */
#define SCATTER(symbol, prefix, name, low, high, table, field_table)                               \
    static const tn_kernel symbol = {                                                              \
        TN_KERNEL_BEGIN("cuda", "", name, "pieces", 1,                                             \
                        "A piece of an update a thread, on the data's own memory where nobody "    \
                        "else reads it."),                                                         \
        .minimum_version = low,                                                                    \
        .maximum_version = high,                                                                   \
        .traits = TN_KERNEL_CAPTURABLE,                                                            \
        TN_COMBINATIONS(table),                                                                    \
        .accepts = tn_cuda_any_accepts,                                                            \
        .open = tn_cuda_fault_open,                                                                \
        .close = tn_cuda_fault_close,                                                              \
        .verify = tn_cuda_fault_verify,                                                            \
        .run = prefix##_run,                                                                       \
        TN_FIELDS(scatter_params, field_table)}
SCATTER(elements_11, scatter_elements, "ScatterElements", 11, 15, elements_combinations,
        five_fields);
SCATTER(elements_16, scatter_elements, "ScatterElements", 16, 17, elements_combinations,
        three_fields);
SCATTER(elements_18, scatter_elements, "ScatterElements", 18, 0, elements_combinations,
        five_fields);
SCATTER(nd_11, scatter_nd, "ScatterND", 11, 15, nd_combinations, five_fields);
SCATTER(nd_16, scatter_nd, "ScatterND", 16, 17, nd_combinations, three_fields);
SCATTER(nd_18, scatter_nd, "ScatterND", 18, 0, nd_combinations, five_fields);
TN_CUDA_LAYER(scatter, &elements_11, &elements_16, &elements_18, &nd_11, &nd_16, &nd_18,
              &tensor_scatter);

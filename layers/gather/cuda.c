/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, GatherElements and GatherND on CUDA, by kit/cuda/any/index.cu. */
#include "kit/cuda/any/index_job.h"
#include "gather/cuda_rows.h"
#include "gather/fields.h"
#include "kit/index/index.h"
#include "kit/operator/axis.h"
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

enum { DATA = TN_INDEX_DATA, INDICES = TN_INDEX_INDICES };

static tn_cuda_index_job begin(const tn_call *call) {
    return (tn_cuda_index_job){.from = call->inputs[DATA]->data,
                               .indices = call->inputs[INDICES]->data,
                               .to = call->outputs[0]->data,
                               .index_type = call->inputs[INDICES]->type,
                               .type = call->inputs[DATA]->type,
                               .width = 1,
                               .fault = tn_cuda_fault_of(call)};
}

static tn_status gather_run(tn_call *call) {
    const tn_tensor *data = call->inputs[DATA];
    tn_cuda_index_job job = begin(call);
    uint32_t axis = 0;
    TN_TRY(tn_axis_read(call, data->rank, &axis));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const int64_t rows[] = {tn_infer_product(data->shape, 0, axis),
                            tn_element_count(call->inputs[INDICES])};
    tn_cuda_index_pieces(&job,
                         tn_infer_product(data->shape, axis + 1, data->rank) *
                             (int64_t)tn_element_bytes(data->type),
                         1);
    if (!tn_cuda_box_init(&job.rows, 2, rows)) return TN_OK;
    job.extents[0] = data->shape[axis];
    job.steps[0] = job.units.divisor;
    job.rows.steps[0][0] = data->shape[axis] * job.steps[0];
    job.rows.steps[1][1] = 1;
    return tn_cuda_any_run(call, tn_cuda_gather_launch, &job);
}

static tn_status gather_elements_run(tn_call *call) {
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    tn_cuda_index_job job = begin(call);
    uint32_t axis = 0;
    TN_TRY(tn_axis_read(call, data->rank, &axis));
    if (!tn_cuda_box_init(&job.rows, indices->rank, indices->shape)) return TN_OK;
    job.bytes = (uint32_t)tn_element_bytes(data->type);
    job.units = tn_divider_make(1);
    tn_region_strides(data->rank, data->shape, job.rows.steps[0]);
    tn_region_strides(indices->rank, indices->shape, job.rows.steps[1]);
    job.extents[0] = data->shape[axis];
    job.steps[0] = job.rows.steps[0][axis];
    job.rows.steps[0][axis] = 0;
    return tn_cuda_any_run(call, tn_cuda_gather_launch, &job);
}

static tn_status gather_nd_run(tn_call *call) {
    const tn_gather_nd_params *params = call->kernel_params;
    const uint32_t batch = (uint32_t)params->batch_dims;
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    const int64_t element = (int64_t)tn_element_bytes(data->type);
    int64_t strides[TN_MAX_RANK];
    tn_cuda_index_job job = begin(call);
    TN_TRY(tn_index_tuple_width(call, batch, &job.width));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const int64_t rows[] = {tn_infer_product(indices->shape, 0, batch),
                            tn_infer_product(indices->shape, batch, indices->rank - 1)};
    const int64_t slice = tn_infer_product(data->shape, batch + job.width, data->rank);
    tn_cuda_index_pieces(&job, slice * element, 1);
    if (!tn_cuda_box_init(&job.rows, 2, rows)) return TN_OK;
    tn_region_strides(data->rank, data->shape, strides);
    for (uint32_t k = 0; k < job.width; k++) {
        job.extents[k] = data->shape[batch + k];
        job.steps[k] = strides[batch + k] * element / job.bytes;
    }
    job.rows.steps[0][0] = tn_infer_product(data->shape, batch, data->rank) * element / job.bytes;
    job.rows.steps[1][0] = rows[1] * job.width;
    job.rows.steps[1][1] = job.width;
    return tn_cuda_any_run(call, tn_cuda_gather_launch, &job);
}

static const char *const gather_combinations[] = {"*, i64|i32 -> *", "f16, i64|i32 -> f16",
                                                  "bf16, i64|i32 -> bf16"};
static const char *const gather_nd_combinations[] = {"*, i64 -> *", "f16, i64 -> f16",
                                                     "bf16, i64 -> bf16"};
#define GATHER(prefix, name, table, ...)                                                           \
    TN_CUDA_ANY_KERNEL(prefix##_pieces, "", name, "pieces",                                        \
                       "A piece of a slice a thread, as wide as slices allow.",                    \
                       TN_COMBINATIONS(table), .accepts = tn_cuda_any_accepts,                     \
                       .open = tn_cuda_fault_open, .close = tn_cuda_fault_close,                   \
                       .verify = tn_cuda_fault_verify, .run = prefix##_run, __VA_ARGS__)
GATHER(gather, "Gather", gather_combinations);
GATHER(gather_elements, "GatherElements", gather_combinations);
GATHER(gather_nd, "GatherND", gather_nd_combinations,
       TN_FIELDS(tn_gather_nd_params, gather_nd_12_fields));
TN_CUDA_LAYER(gather, &gather_pieces, &tn_gather_cuda_rows, &gather_elements_pieces,
              &gather_nd_pieces);

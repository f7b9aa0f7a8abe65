/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather: slices of a tensor along an axis, picked by a tensor of indices whose shape takes the
 * axis's place. Negative indices count from the end; those outside are an error when it runs.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/moves.h"

typedef struct gather_params {
    uint64_t present;
    int64_t axis;
} gather_params;

enum { GATHER_DATA = 0, GATHER_INDICES = 1 };

static const tn_field gather_fields[] = {
    TN_FIELD(gather_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",
             "axis along which slices are picked; negative: from the end"),
};

static tn_status gather_infer(tn_call *call) {
    const gather_params *params = call->params;
    int64_t shape[2 * TN_MAX_RANK];
    uint32_t axis = 0, rank = 0;
    TN_TRY(tn_infer_require_rank(call, GATHER_DATA, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, GATHER_INDICES, 0, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[GATHER_DATA], *indices = call->inputs[GATHER_INDICES];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    for (uint32_t i = 0; i < axis; i++)
        shape[rank++] = data->shape[i];
    for (uint32_t i = 0; i < indices->rank; i++)
        shape[rank++] = indices->shape[i];
    for (uint32_t i = axis + 1; i < data->rank; i++)
        shape[rank++] = data->shape[i];
    return tn_infer_set_shape(call, 0, rank, shape);
}

/* data as [outer, extent, slices of bytes], output as [outer, count, slices]. */
typedef struct gather_job {
    const char *data;
    char *output;
    const tn_tensor *indices;
    int64_t extent, count;
    size_t bytes;
} gather_job;

/* An item is one slice of the output. */
static tn_status gather_slices(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const gather_job *job = user;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        int64_t at = tn_element_load_i64(job->indices->data, job->indices->type, item % job->count);
        at += item / job->count * job->extent + (at < 0 ? job->extent : 0);
        const char *from = job->data + (size_t)at * job->bytes;
        char *to = job->output + (size_t)item * job->bytes;
        if (job->bytes == 4)
            memcpy(to, from, 4);
        else if (job->bytes == 8)
            memcpy(to, from, 8);
        else
            memcpy(to, from, job->bytes);
    }
    return TN_OK;
}

static tn_status check_indices(tn_call *call, int64_t extent) {
    const tn_tensor *indices = call->inputs[GATHER_INDICES];
    for (int64_t i = 0; i < tn_element_count(indices); i++) {
        int64_t index = tn_element_load_i64(indices->data, indices->type, i);
        if (index < -extent || index >= extent)
            return call->host->fail(
                call, TN_ERROR_RANGE, "index %lld at position %lld is outside %lld..%lld",
                (long long)index, (long long)i, (long long)-extent, (long long)extent - 1);
    }
    return TN_OK;
}

static tn_status gather(tn_call *call, bool is_parallel) {
    enum { GRAIN_BYTES = 65536 };
    const gather_params *params = call->params;
    const tn_tensor *data = call->inputs[GATHER_DATA], *indices = call->inputs[GATHER_INDICES];
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    TN_TRY(check_indices(call, data->shape[axis]));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    gather_job job = {.data = data->data,
                      .output = call->outputs[0]->data,
                      .indices = indices,
                      .extent = data->shape[axis],
                      .count = tn_element_count(indices),
                      .bytes = (size_t)tn_infer_product(data->shape, axis + 1, data->rank) *
                               tn_element_bytes(data->type)};
    const int64_t items = tn_infer_product(data->shape, 0, axis) * job.count;
    if (!is_parallel) return gather_slices(&job, 0, items, 0);
    return call->host->parallel_for(call, items, GRAIN_BYTES / (int64_t)job.bytes + 1,
                                    gather_slices, &job);
}

static tn_status gather_reference(tn_call *call) {
    return gather(call, false);
}

static tn_status gather_run(tn_call *call) {
    return gather(call, true);
}

static const tn_port gather_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("indices", "i64|i32", 0, "which slices"),
};
static const tn_port gather_outputs[] = {TN_PORT("output", "T", 0, "the slices")};
static const char *const gather_cases[] = {
    "| data=f32[5,4,3] indices=i64[3]{0,-1,3}",
    "axis=1 | data=f16[2,4,3] indices=i64[2,2]{0,3,1,1}",
    "axis=-1 | data=f64[2,4] indices=i32[3]{-4,0,2}",
    "| data=u8[7] indices=i64[]{6}",
    "axis=1 | data=bool[2,3] indices=i64[0]",
    "| data=i64[0,3] indices=i64[0]",
    "| data=f32[1000,384] indices=i64[1,4]{7,0,999,-1}",
};

TN_OPERATOR(gather, "", "Gather", 1, "Picks slices of a tensor by their indices.",
            TN_FIELDS(gather_params, gather_fields), .traits = TN_OPERATOR_SELECTS);

TN_MOVE_KERNELS(gather, "Gather");

TN_LAYER(gather, TN_OPERATORS(&gather_1), TN_KERNELS(&gather_runs, &gather_bytes));

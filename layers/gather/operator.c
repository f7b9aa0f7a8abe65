/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather, slices of a tensor along an axis, picked by a tensor of indices whose shape takes the
 * axis's position; GatherElements, single elements; GatherND, slices by indices of several axes at
 * once. Negative indices count from the end; those outside are an error when it runs.
 */
#include "gather/fields.h"
#include "kit/index/index.h"
#include "kit/operator/axis.h"
#include "kit/operator/moves.h"

enum { DATA = TN_INDEX_DATA, INDICES = TN_INDEX_INDICES };

static const tn_port gather_outputs[] = {TN_PORT("output", "T", 0, "the slices")};

/* ----------------------------------------------------------------------------------------------
 * Gather */

static const tn_field gather_fields[] = {
    TN_AXIS_FIELD(TN_OPTIONAL, "0", "axis along which slices are picked; negative: from the end"),
};

static tn_status gather_infer(tn_call *call) {
    int64_t shape[2 * TN_MAX_RANK];
    uint32_t axis = 0, rank = 0;
    TN_TRY(tn_infer_require_rank(call, DATA, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, INDICES, 0, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    TN_TRY(tn_axis_read(call, call->inputs[DATA]->rank, &axis));
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
    tn_call *call;
    const char *data;
    char *output;
    int64_t extent, count;
    size_t bytes;
} gather_job;

static void copy_slices(const char *data, const int64_t *offsets, int64_t count, size_t bytes,
                        char *to) {
    if (bytes == 4)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * 4, data + offsets[i], 4);
    else if (bytes == 8)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * 8, data + offsets[i], 8);
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(to + (size_t)i * bytes, data + offsets[i], bytes);
}

/* An item is one slice of the output. */
static tn_status gather_slices(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const gather_job *job = user;
    int64_t offsets[TN_INDEX_BLOCK];
    (void)thread;
    while (begin < end) {
        const int64_t outer = begin / job->count, first = begin % job->count;
        int64_t count = job->count - first < end - begin ? job->count - first : end - begin;
        if (count > TN_INDEX_BLOCK) count = TN_INDEX_BLOCK;
        TN_TRY(
            tn_index_offsets(job->call, first, count, job->extent, (int64_t)job->bytes, offsets));
        copy_slices(job->data + (size_t)(outer * job->extent) * job->bytes, offsets, count,
                    job->bytes, job->output + (size_t)begin * job->bytes);
        begin += count;
    }
    return TN_OK;
}

/* Before anything is written. */
static tn_status check_indices(tn_call *call, int64_t extent) {
    int64_t offsets[TN_INDEX_BLOCK];
    const int64_t end = tn_element_count(call->inputs[INDICES]);
    for (int64_t at = 0; at < end; at += TN_INDEX_BLOCK)
        TN_TRY(tn_index_offsets(call, at, end - at < TN_INDEX_BLOCK ? end - at : TN_INDEX_BLOCK,
                                extent, 1, offsets));
    return TN_OK;
}

static tn_status gather(tn_call *call, bool is_parallel) {
    enum { GRAIN_BYTES = 65536 };
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    uint32_t axis = 0;
    TN_TRY(tn_axis_read(call, call->inputs[DATA]->rank, &axis));
    TN_TRY(check_indices(call, data->shape[axis]));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    gather_job job = {.call = call,
                      .data = data->data,
                      .output = call->outputs[0]->data,
                      .extent = data->shape[axis],
                      .count = tn_element_count(indices),
                      .bytes = (size_t)tn_infer_product(data->shape, axis + 1, data->rank) *
                               tn_element_bytes(data->type)};
    const int64_t items = tn_infer_product(data->shape, 0, axis) * job.count;
    if (!is_parallel) return gather_slices(&job, 0, items, 0);
    return call->host->parallel_for(call, items, GRAIN_BYTES / ((int64_t)job.bytes + 1) + 1,
                                    gather_slices, &job);
}

TN_MOVES_PARALLEL(gather, gather)

static const tn_port gather_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
    TN_PORT("indices", "i64|i32", 0, "which slices"),
};
static const char *const gather_cases[] = {
    "| data=f32[5,4,3] indices=i64[3]{0,-1,3}",
    "axis=1 | data=f16[2,4,3] indices=i64[2,2]{0,3,1,1}",
    "axis=-1 | data=f64[2,4] indices=i32[3]{-4,0,2}",
    "| data=u8[7] indices=i64[]{6}",
    "axis=1 | data=bool[2,3] indices=i64[0]",
    "| data=i64[0,3] indices=i64[0]",
    "| data=f32[1000,384] indices=i64[1,4]{7,0,999,-1}",
    "axis=1 | data=string[2,3]{a,b,c,d,e,f} indices=i64[2]{-1,0} | output=string[2,2]{c,a,f,d}",
};

TN_OPERATOR(gather, "", "Gather", 1, "Picks slices of a tensor by their indices.",
            TN_FIELDS(tn_axis_params, gather_fields), .traits = TN_OPERATOR_SELECTS);
TN_MOVE_KERNELS(gather, "Gather");

/* ----------------------------------------------------------------------------------------------
 * GatherElements: each element of the output is the one of `data` at its own position, but for the
 * given axis, where `indices` says which */

static const tn_field gather_elements_fields[] = {
    TN_AXIS_FIELD(TN_OPTIONAL, "0", "the axis that indices speak of; negative: from the end")};

static tn_status gather_elements_infer(tn_call *call) {
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, DATA, 1, TN_MAX_RANK));
    const uint32_t rank = call->inputs[DATA]->rank;
    TN_TRY(tn_infer_require_rank(call, INDICES, rank, rank));
    TN_TRY(tn_axis_read(call, call->inputs[DATA]->rank, &axis));
    TN_TRY(tn_index_check_axes(call, axis));
    return tn_infer_copy_shape(call, 0, INDICES);
}

typedef struct elements_job {
    tn_call *call;
    int64_t strides[TN_MAX_RANK]; /* of the data */
    int64_t extent;               /* of the axis */
    uint32_t axis;
} elements_job;

/* Elements of a row of the output: `count` from number `at` on, in the data from `row` on, `step`
 * apart but for the axis. */
#define GATHER_ROW(index_type, type)                                                               \
    {                                                                                              \
        const index_type *indices = (const index_type *)job->call->inputs[INDICES]->data + at;     \
        const type *from = (const type *)job->call->inputs[DATA]->data + row;                      \
        type *to = (type *)job->call->outputs[0]->data + at;                                       \
        for (int64_t i = 0; i < count; i++, from += step) {                                        \
            int64_t index = indices[i];                                                            \
            index += index >> 63 & extent;                                                         \
            if ((uint64_t)index >= (uint64_t)extent)                                               \
                return tn_index_load(job->call, at + i, extent, &index);                           \
            to[i] = from[index * stride];                                                          \
        }                                                                                          \
        return TN_OK;                                                                              \
    }
#define GATHER_ROWS(name, index_type)                                                              \
    static tn_status gather_row_##name(const elements_job *job, int64_t at, int64_t count,         \
                                       int64_t row, int64_t step) {                                \
        const int64_t stride = job->strides[job->axis], extent = job->extent;                      \
        switch (tn_element_bytes(job->call->inputs[DATA]->type)) {                                 \
        case 1:                                                                                    \
            GATHER_ROW(index_type, uint8_t)                                                        \
        case 2:                                                                                    \
            GATHER_ROW(index_type, uint16_t)                                                       \
        case 4:                                                                                    \
            GATHER_ROW(index_type, uint32_t)                                                       \
        case sizeof(tn_string):                                                                    \
            GATHER_ROW(index_type, tn_string)                                                      \
        default:                                                                                   \
            GATHER_ROW(index_type, uint64_t)                                                       \
        }                                                                                          \
    }
GATHER_ROWS(i32, int32_t)
GATHER_ROWS(i64, int64_t)

/* An item is an element of the output. */
static tn_status gather_some_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const elements_job *job = user;
    const tn_tensor *output = job->call->outputs[0];
    const uint32_t last = output->rank - 1;
    const int64_t width = output->shape[last], step = job->axis == last ? 0 : 1;
    const bool is_long = job->call->inputs[INDICES]->type == TN_I64;
    (void)thread;
    for (int64_t i = begin; i < end;) {
        const int64_t first = i % width;
        const int64_t count = end - i < width - first ? end - i : width - first;
        int64_t row = first * step, rest = i / width;
        for (uint32_t k = last; k-- > 0; rest /= output->shape[k])
            row += k == job->axis ? 0 : rest % output->shape[k] * job->strides[k];
        TN_TRY(is_long ? gather_row_i64(job, i, count, row, step)
                       : gather_row_i32(job, i, count, row, step));
        i += count;
    }
    return TN_OK;
}

static tn_status gather_elements(tn_call *call, bool is_parallel) {
    enum { GRAIN = 4096 };
    const tn_tensor *data = call->inputs[DATA];
    const int64_t elements = tn_element_count(call->outputs[0]);
    elements_job job = {.call = call};
    TN_TRY(tn_axis_read(call, data->rank, &job.axis));
    job.extent = data->shape[job.axis];
    tn_region_strides(data->rank, data->shape, job.strides);
    if (elements == 0) return TN_OK;
    if (!is_parallel) return gather_some_elements(&job, 0, elements, 0);
    return call->host->parallel_for(call, elements, GRAIN, gather_some_elements, &job);
}

TN_MOVES_PARALLEL(gather_elements, gather_elements)

static const tn_port gather_elements_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
    TN_PORT("indices", "i64|i32", 0, "which element along the axis"),
};
static const tn_port gather_elements_outputs[] = {
    TN_PORT("output", "T", 0, "the elements, shaped like the indices")};
static const char *const gather_elements_cases[] = {
    "axis=1 | data=f32[2,2] indices=i64[2,2]{0,0,1,0}",
    "| data=f16[3,3] indices=i32[2,3]{-1,-2,0,2,0,0}",
    "axis=-1 | data=u8[2,3,4] indices=i64[1,2,5]{0,1,2,3,-4,3,2,1,0,0}",
    "| data=i64[5] indices=i64[0]",
    "axis=1 | data=bool[2,3] indices=i64[2,1]{2,0}",
    ("axis=1 | data=string[2,3]{a,b,c,d,e,f} indices=i64[2,2]{-1,0,1,1}"
     " | output=string[2,2]{c,a,e,e}"),
};

TN_OPERATOR(gather_elements, "", "GatherElements", 11,
            "Picks elements by their indices along an axis.",
            TN_FIELDS(tn_axis_params, gather_elements_fields), .traits = TN_OPERATOR_SELECTS);

/* ----------------------------------------------------------------------------------------------
 * GatherND: the first `batch_dims` axes are traversed side by side in both */

static uint32_t batch_axes(const tn_call *call) {
    const tn_gather_nd_params *params = call->params;
    return call->op->since_version >= 12 ? (uint32_t)params->batch_dims : 0;
}

static tn_status gather_nd_infer(tn_call *call) {
    const uint32_t batch = batch_axes(call);
    int64_t shape[2 * TN_MAX_RANK];
    uint32_t rank = 0, width = 0;
    TN_TRY(tn_infer_require_rank(call, DATA, batch + 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, INDICES, batch + 1, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    TN_TRY(tn_index_tuple_width(call, batch, &width));
    for (uint32_t i = 0; i < batch; i++)
        if (data->shape[i] != indices->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements in 'data' and %lld in 'indices'", i,
                                    (long long)data->shape[i], (long long)indices->shape[i]);
    for (uint32_t i = 0; i + 1 < indices->rank; i++)
        shape[rank++] = indices->shape[i];
    for (uint32_t i = batch + width; i < data->rank; i++)
        shape[rank++] = data->shape[i];
    return tn_infer_set_shape(call, 0, rank, shape);
}

typedef struct nd_job {
    tn_call *call;
    int64_t strides[TN_MAX_RANK]; /* of the data */
    int64_t each, whole;          /* tuples, and elements of the data, of a batch */
    size_t bytes;                 /* of a slice */
    uint32_t batch;
} nd_job;

/* An item is a tuple of indices. */
static tn_status gather_tuples(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const nd_job *job = user;
    const tn_tensor *data = job->call->inputs[DATA];
    const size_t element = tn_element_bytes(data->type);
    int64_t offset = 0;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        TN_TRY(tn_index_tuple(job->call, job->batch, job->strides, i, &offset));
        memcpy((char *)job->call->outputs[0]->data + (size_t)i * job->bytes,
               (const char *)data->data + (size_t)(i / job->each * job->whole + offset) * element,
               job->bytes);
    }
    return TN_OK;
}

static tn_status gather_nd(tn_call *call, bool is_parallel) {
    enum { GRAIN_BYTES = 65536, TUPLE = 16 };
    const uint32_t batch = batch_axes(call);
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    const uint32_t end = batch + (uint32_t)indices->shape[indices->rank - 1];
    nd_job job = {.call = call,
                  .batch = batch,
                  .each = tn_infer_product(indices->shape, batch, indices->rank - 1),
                  .whole = tn_infer_product(data->shape, batch, data->rank),
                  .bytes = (size_t)tn_infer_product(data->shape, end, data->rank) *
                           tn_element_bytes(data->type)};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    tn_region_strides(data->rank, data->shape, job.strides);
    const int64_t tuples = tn_infer_product(indices->shape, 0, indices->rank - 1);
    if (!is_parallel) return gather_tuples(&job, 0, tuples, 0);
    return call->host->parallel_for(call, tuples, GRAIN_BYTES / ((int64_t)job.bytes + TUPLE) + 1,
                                    gather_tuples, &job);
}

TN_MOVES_PARALLEL(gather_nd, gather_nd)

static const tn_port gather_nd_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
    TN_PORT("indices", "i64", 0, "indices of several axes, along the last axis"),
};
#define CASES_11                                                                                   \
    "| data=i32[2,2]{0,1,2,3} indices=i64[2,2]{0,0,1,1}",                                          \
        "| data=f32[2,3,4] indices=i64[2,1,2]{0,-1,1,0}",                                          \
        "| data=f16[5,3] indices=i64[3,1]{4,-5,2}", "| data=u8[5] indices=i64[0,1]",               \
        "| data=string[2,2]{a,b,c,d} indices=i64[3,2]{1,0,0,1,-1,-1} | output=string[3]{c,b,d}"
static const char *const gather_nd_11_cases[] = {CASES_11};
static const char *const gather_nd_12_cases[] = {
    CASES_11,
    "batch_dims=1 | data=f32[2,2,3] indices=i64[2,1]{1,0}",
    "batch_dims=1 | data=bool[2,3,4] indices=i64[2,2,2]{0,1,2,3,0,0,-1,-1}",
};

#define GATHER_ND(version, field_rows)                                                             \
    TN_OPERATOR_VERSION(gather_nd, "", "GatherND", version,                                        \
                        "Picks slices by indices of several axes.", TN_INPUTS(gather_nd_inputs),   \
                        TN_OUTPUTS(gather_outputs), TN_CASES(gather_nd_##version##_cases),         \
                        .traits = TN_OPERATOR_SELECTS, field_rows)
GATHER_ND(11, TN_NO_FIELDS);
GATHER_ND(12, TN_FIELDS(tn_gather_nd_params, gather_nd_12_fields));

static const tn_kernel gather_elements_runs =
    TN_REGION_KERNEL("GatherElements", gather_elements_run);
static const tn_kernel gather_nd_runs = TN_REGION_KERNEL("GatherND", gather_nd_run);

TN_LAYER(gather, TN_OPERATORS(&gather_1, &gather_elements_11, &gather_nd_11, &gather_nd_12),
         TN_KERNELS(&gather_runs, &gather_bytes, &gather_elements_runs, &gather_nd_runs));

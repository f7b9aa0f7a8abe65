/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's SparseTensorProto as a dense tensor: values, and for each where it is, as a position in
 * the linear order or as one index an axis. Positions ascend, so that none is there twice.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

/* What a few bytes of a file may ask for. */
#define SPARSE_BYTES_AT_MOST ((size_t)1 << 30)

typedef struct sparse_parts {
    tn_onnx_data values, indices;
    tn_shape shape;
    size_t count; /* of values */
} sparse_parts;

static tn_status read_shape(const Tenon__Onnx__SparseTensorProto *sparse, sparse_parts *parts) {
    if (sparse->n_dims > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", sparse->n_dims,
                       TN_MAX_RANK);
    return tn_shape_set(&parts->shape, (uint32_t)sparse->n_dims, sparse->dims);
}

/* An index a value, or as many as there are axes. */
static tn_status check_parts(const sparse_parts *parts) {
    const tn_shape *values = &parts->values.shape, *indices = &parts->indices.shape;
    const bool is_linear = indices->rank == 1;
    const bool is_sound = values->rank == 1 && (is_linear || indices->rank == 2) &&
                          indices->extents[0] == values->extents[0] &&
                          (is_linear || indices->extents[1] == (int64_t)parts->shape.rank);
    if (parts->values.type == TN_STRING)
        return tn_fail(TN_ERROR_UNSUPPORTED, "sparse tensors of strings are not supported");
    if (parts->indices.type != TN_I64 || !is_sound)
        return tn_fail(TN_ERROR_FORMAT,
                       "a sparse tensor has values [n] and indices [n] or [n, rank] of i64");
    return TN_OK;
}

/* Where value `index` is in the linear order. */
static tn_status find_position(const sparse_parts *parts, size_t index, size_t total,
                               size_t *out_position) {
    const int64_t *indices = parts->indices.data;
    const tn_shape *shape = &parts->shape;
    if (parts->indices.shape.rank == 1) {
        if (indices[index] < 0 || (uint64_t)indices[index] >= total)
            return tn_fail(TN_ERROR_FORMAT, "index %zu is %" PRId64 " of %zu elements", index,
                           indices[index], total);
        *out_position = (size_t)indices[index];
        return TN_OK;
    }
    *out_position = 0;
    for (uint32_t axis = 0; axis < shape->rank; axis++) {
        const int64_t at = indices[index * shape->rank + axis];
        if (at < 0 || at >= shape->extents[axis])
            return tn_fail(TN_ERROR_FORMAT,
                           "index %zu is %" PRId64 " along axis %" PRIu32 " of %" PRId64
                           " elements",
                           index, at, axis, shape->extents[axis]);
        *out_position = *out_position * (size_t)shape->extents[axis] + (size_t)at;
    }
    return TN_OK;
}

static tn_status scatter(const sparse_parts *parts, size_t total, unsigned char *dense) {
    const size_t each = tn_type_bytes(parts->values.type);
    size_t before = 0;
    for (size_t i = 0; i < parts->count; i++) {
        size_t position = 0;
        TN_TRY(find_position(parts, i, total, &position));
        if (i > 0 && position <= before)
            return tn_fail(TN_ERROR_FORMAT, "index %zu does not come after the one before it", i);
        memcpy(dense + position * each, (const unsigned char *)parts->values.data + i * each, each);
        before = position;
    }
    return TN_OK;
}

static tn_status make_dense(tn_onnx_reader *reader, const sparse_parts *parts, tn_onnx_data *data) {
    size_t total = 0;
    TN_TRY(tn_shape_count(&data->shape, &total));
    if (tn_type_is_packed(data->type))
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a sparse tensor has elements of less than a byte (%s)",
                       tn_type_name(data->type));
    TN_TRY(tn_format_bytes(TN_LINEAR, data->type, &data->shape, &data->bytes));
    if (data->bytes > SPARSE_BYTES_AT_MOST)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a sparse tensor would take %zu bytes; at most %zu are taken for one",
                       data->bytes, SPARSE_BYTES_AT_MOST);
    if (data->bytes == 0)
        return parts->count == 0
                   ? TN_OK
                   : tn_fail(TN_ERROR_FORMAT, "a sparse tensor without elements has values");
    unsigned char *dense = tn_import_allocate(reader->graph, data->bytes);
    if (!dense) return tn_fail_memory("a sparse tensor");
    memset(dense, 0, data->bytes);
    data->data = dense;
    return scatter(parts, total, dense);
}

tn_status tn_onnx_sparse_read(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              const Tenon__Onnx__SparseTensorProto *sparse,
                              tn_onnx_data *out_data) {
    sparse_parts parts = {0};
    tn_onnx_data data = {0};
    if (!sparse || !sparse->values || !sparse->indices)
        return tn_fail(TN_ERROR_FORMAT, "a sparse tensor has values and indices");
    TN_TRY(read_shape(sparse, &parts));
    TN_TRY(
        tn_error_at(tn_onnx_tensor_read(reader, scope, sparse->values, &parts.values), "values"));
    TN_TRY(tn_error_at(tn_onnx_tensor_read(reader, scope, sparse->indices, &parts.indices),
                       "indices"));
    TN_TRY(check_parts(&parts));
    TN_TRY(tn_shape_count(&parts.values.shape, &parts.count));
    data.type = parts.values.type;
    data.shape = parts.shape;
    TN_TRY(make_dense(reader, &parts, &data));
    *out_data = data;
    return TN_OK;
}

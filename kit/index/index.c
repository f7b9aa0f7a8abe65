/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of elements; see index.h. */
#include "kit/index/index.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

tn_status tn_index_load(tn_call *call, int64_t at, int64_t extent, int64_t *out_index) {
    const tn_tensor *indices = call->inputs[TN_INDEX_INDICES];
    const int64_t index = tn_element_i64(indices, at);
    if (index < -extent || index >= extent)
        return call->host->fail(
            call, TN_ERROR_RANGE, "index %lld at position %lld is outside %lld..%lld",
            (long long)index, (long long)at, (long long)-extent, (long long)extent - 1);
    *out_index = index < 0 ? index + extent : index;
    return TN_OK;
}

/* A loop that may end early is not vectorised: the baseline has no vectors that compare or multiply
 * 64 bits. */
#define READ_OFFSETS(index_type)                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                          \
        const int64_t given = ((const index_type *)indices->data)[at + i];                         \
        index = given + (given < 0 ? extent : 0);                                                  \
        if ((uint64_t)index >= (uint64_t)extent)                                                   \
            return tn_index_load(call, at + i, extent, &index);                                    \
        out_offsets[i] = index * stride;                                                           \
    }

tn_status tn_index_offsets(tn_call *call, int64_t at, int64_t count, int64_t extent, int64_t stride,
                           int64_t *out_offsets) {
    const tn_tensor *indices = call->inputs[TN_INDEX_INDICES];
    int64_t index = 0;
    if (indices->type == TN_I64)
        READ_OFFSETS(int64_t)
    else
        READ_OFFSETS(int32_t)
    return TN_OK;
}

tn_status tn_index_check_axes(tn_call *call, uint32_t axis) {
    const tn_tensor *data = call->inputs[TN_INDEX_DATA], *indices = call->inputs[TN_INDEX_INDICES];
    for (uint32_t i = 0; i < data->rank; i++)
        if (i != axis && indices->shape[i] > data->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements in 'data' and %lld in 'indices'", i,
                                    (long long)data->shape[i], (long long)indices->shape[i]);
    return TN_OK;
}

tn_status tn_index_tuple_width(tn_call *call, uint32_t batch, uint32_t *out_width) {
    const tn_tensor *data = call->inputs[TN_INDEX_DATA], *indices = call->inputs[TN_INDEX_INDICES];
    const int64_t width = indices->shape[indices->rank - 1];
    if (width < 1 || width > (int64_t)(data->rank - batch))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "indices of %lld numbers do not fit the %u axes of 'data'",
                                (long long)width, data->rank - batch);
    *out_width = (uint32_t)width;
    return TN_OK;
}

tn_status tn_index_tuple(tn_call *call, uint32_t batch, const int64_t *strides, int64_t tuple,
                         int64_t *out_offset) {
    const tn_tensor *data = call->inputs[TN_INDEX_DATA], *indices = call->inputs[TN_INDEX_INDICES];
    const uint32_t width = (uint32_t)indices->shape[indices->rank - 1];
    const bool is_wide = indices->type == TN_I64;
    int64_t offset = 0;
    for (uint32_t k = 0; k < width; k++) {
        const int64_t at = tuple * width + k, extent = data->shape[batch + k];
        int64_t index =
            is_wide ? ((const int64_t *)indices->data)[at] : ((const int32_t *)indices->data)[at];
        if (index < 0) index += extent;
        if ((uint64_t)index >= (uint64_t)extent) return tn_index_load(call, at, extent, &index);
        offset += index * strides[batch + k];
    }
    *out_offset = offset;
    return TN_OK;
}

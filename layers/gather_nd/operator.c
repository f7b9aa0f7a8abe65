/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GatherND: slices of a tensor, each by an index of several axes at once, which the last axis of
 * `indices` holds. The first `batch_dims` axes are walked side by side in both.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "kit/scatter/scatter.h"

typedef struct gather_nd_params {
    uint64_t present;
    int64_t batch_dims;
} gather_nd_params;

enum { GATHER_DATA = 0, GATHER_INDICES = 1 };

static const tn_field gather_nd_12_fields[] = {
    TN_FIELD_RANGE(gather_nd_params, batch_dims, TN_FIELD_I64, TN_OPTIONAL, "0", 0, TN_MAX_RANK - 1,
                   "axes that data and indices have in common")};

static uint32_t batch_axes(const tn_call *call) {
    const gather_nd_params *params = call->params;
    return call->op->since_version >= 12 ? (uint32_t)params->batch_dims : 0;
}

static tn_status gather_nd_infer(tn_call *call) {
    const uint32_t batch = batch_axes(call);
    int64_t shape[2 * TN_MAX_RANK];
    uint32_t rank = 0;
    TN_TRY(tn_infer_require_rank(call, GATHER_DATA, batch + 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, GATHER_INDICES, batch + 1, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[GATHER_DATA], *indices = call->inputs[GATHER_INDICES];
    const int64_t width = indices->shape[indices->rank - 1];
    if (width < 1 || width > (int64_t)(data->rank - batch))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "indices of %lld numbers do not fit the %u axes of 'data'",
                                (long long)width, data->rank - batch);
    for (uint32_t i = 0; i < batch; i++)
        if (data->shape[i] != indices->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements in 'data' and %lld in 'indices'", i,
                                    (long long)data->shape[i], (long long)indices->shape[i]);
    for (uint32_t i = 0; i + 1 < indices->rank; i++)
        shape[rank++] = indices->shape[i];
    for (uint32_t i = batch + (uint32_t)width; i < data->rank; i++)
        shape[rank++] = data->shape[i];
    return tn_infer_set_shape(call, 0, rank, shape);
}

static tn_status gather_nd_reference(tn_call *call) {
    const uint32_t batch = batch_axes(call);
    const tn_tensor *data = call->inputs[GATHER_DATA], *indices = call->inputs[GATHER_INDICES];
    const int64_t width = indices->shape[indices->rank - 1];
    const uint32_t end = batch + (uint32_t)width;
    const int64_t slice = tn_infer_product(data->shape, end, data->rank);
    const int64_t each = tn_infer_product(indices->shape, batch, indices->rank - 1);
    const int64_t whole = tn_infer_product(data->shape, batch, data->rank);
    const size_t bytes = (size_t)slice * tn_element_bytes(data->type);
    int64_t strides[TN_MAX_RANK];
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    tn_region_strides(data->rank, data->shape, strides);
    for (int64_t i = 0; i < tn_infer_product(indices->shape, 0, indices->rank - 1); i++) {
        int64_t from = i / each * whole, index = 0;
        for (int64_t k = 0; k < width; k++) {
            TN_TRY(tn_scatter_index(
                call, tn_element_load_i64(indices->data, indices->type, i * width + k),
                data->shape[batch + (uint32_t)k], &index));
            from += index * strides[batch + (uint32_t)k];
        }
        memcpy((char *)call->outputs[0]->data + (size_t)i * bytes,
               (const char *)data->data + (size_t)from * tn_element_bytes(data->type), bytes);
    }
    return TN_OK;
}

static const tn_port gather_nd_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("indices", "i64", 0, "indices of several axes, along the last axis"),
};
static const tn_port gather_nd_outputs[] = {TN_PORT("output", "T", 0, "the slices")};
#define CASES_11                                                                                   \
    "| data=i32[2,2]{0,1,2,3} indices=i64[2,2]{0,0,1,1}",                                          \
        "| data=f32[2,3,4] indices=i64[2,1,2]{0,-1,1,0}",                                          \
        "| data=f16[5,3] indices=i64[3,1]{4,-5,2}", "| data=u8[5] indices=i64[0,1]"
static const char *const gather_nd_11_cases[] = {CASES_11};
static const char *const gather_nd_12_cases[] = {
    CASES_11,
    "batch_dims=1 | data=f32[2,2,3] indices=i64[2,1]{1,0}",
    "batch_dims=1 | data=bool[2,3,4] indices=i64[2,2,2]{0,1,2,3,0,0,-1,-1}",
};

#define GATHER_ND(version, field_rows)                                                             \
    TN_OPERATOR_VERSION(gather_nd, "", "GatherND", version,                                        \
                        "Picks slices by indices of several axes.", TN_INPUTS(gather_nd_inputs),   \
                        TN_OUTPUTS(gather_nd_outputs), TN_CASES(gather_nd_##version##_cases),      \
                        .traits = TN_OPERATOR_SELECTS, field_rows)
GATHER_ND(11, TN_NO_FIELDS);
GATHER_ND(12, TN_FIELDS(gather_nd_params, gather_nd_12_fields));

TN_LAYER_WITHOUT_KERNELS(gather_nd, TN_OPERATORS(&gather_nd_11, &gather_nd_12));

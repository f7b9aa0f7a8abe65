/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GatherElements: each element of the output is the one of `data` at its own place, but for the
 * given axis, where `indices` says which. Negative indices count from the end.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "kit/scatter/scatter.h"

typedef struct gather_elements_params {
    uint64_t present;
    int64_t axis;
} gather_elements_params;

enum { GATHER_DATA = 0, GATHER_INDICES = 1 };

static const tn_field gather_elements_fields[] = {
    TN_FIELD(gather_elements_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",
             "the axis that indices speak of; negative: from the end"),
};

static tn_status gather_elements_infer(tn_call *call) {
    const gather_elements_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, GATHER_DATA, 1, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[GATHER_DATA];
    TN_TRY(tn_infer_require_rank(call, GATHER_INDICES, data->rank, data->rank));
    const tn_tensor *indices = call->inputs[GATHER_INDICES];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    for (uint32_t i = 0; i < data->rank; i++)
        if (i != axis && indices->shape[i] > data->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements in 'data' and %lld in 'indices'", i,
                                    (long long)data->shape[i], (long long)indices->shape[i]);
    return tn_infer_copy_shape(call, 0, GATHER_INDICES);
}

static tn_status gather_elements_reference(tn_call *call) {
    const gather_elements_params *params = call->params;
    const tn_tensor *data = call->inputs[GATHER_DATA], *indices = call->inputs[GATHER_INDICES];
    const tn_tensor *output = call->outputs[0];
    const size_t bytes = tn_element_bytes(data->type);
    int64_t strides[TN_MAX_RANK];
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    tn_region_strides(data->rank, data->shape, strides);
    for (int64_t i = 0; i < tn_element_count(output); i++) {
        int64_t from = 0, rest = i, index = 0;
        TN_TRY(tn_scatter_index(call, tn_element_load_i64(indices->data, indices->type, i),
                                data->shape[axis], &index));
        for (uint32_t k = data->rank; k-- > 0; rest /= output->shape[k])
            from += (k == axis ? index : rest % output->shape[k]) * strides[k];
        memcpy((char *)output->data + (size_t)i * bytes,
               (const char *)data->data + (size_t)from * bytes, bytes);
    }
    return TN_OK;
}

static const tn_port gather_elements_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
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
};

TN_OPERATOR(gather_elements, "", "GatherElements", 11,
            "Picks elements by their indices along an axis.",
            TN_FIELDS(gather_elements_params, gather_elements_fields),
            .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(gather_elements, TN_OPERATORS(&gather_elements_11));

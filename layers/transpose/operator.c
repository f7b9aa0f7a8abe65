/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose: a tensor with its axes in another order. */
#include "transpose/transpose.h"
#include "kit/operator/layer.h"

static const tn_field transpose_fields[] = {
    TN_FIELD(tn_transpose_params, perm, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "axis of the input for each axis of the output; absent: the order reversed"),
};

static tn_status read_axes(tn_call *call, uint32_t *out_axes) {
    const tn_transpose_params *params = call->params;
    const uint32_t rank = call->inputs[0]->rank;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < rank; i++)
        out_axes[i] = rank - 1 - i;
    if (!(params->present & 1)) return TN_OK;
    if (params->perm.count != rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'perm' has %llu axes, the input has rank %u",
                                (unsigned long long)params->perm.count, rank);
    TN_TRY(tn_infer_axes(call, "field 'perm'", rank, params->perm.items, rank, &mask));
    for (uint32_t i = 0; i < rank; i++)
        TN_TRY(tn_infer_axis(call, "field 'perm'", params->perm.items[i], rank, &out_axes[i]));
    return TN_OK;
}

static tn_status transpose_infer(tn_call *call) {
    uint32_t axes[TN_MAX_RANK];
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_axes(call, axes));
    const tn_tensor *data = call->inputs[0];
    for (uint32_t i = 0; i < data->rank; i++)
        shape[i] = data->shape[axes[i]];
    return tn_infer_set_shape(call, 0, data->rank, shape);
}

static tn_status transpose_is_identity(tn_call *call) {
    uint32_t axes[TN_MAX_RANK];
    TN_TRY(read_axes(call, axes));
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        if (axes[i] != i) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_transpose_region(tn_call *call, tn_region *out_region) {
    const tn_tensor *data = call->inputs[0], *output = call->outputs[0];
    uint32_t axes[TN_MAX_RANK];
    int64_t strides[TN_MAX_RANK];
    TN_TRY(read_axes(call, axes));
    tn_region_init(out_region, output->rank, output->shape, output->type);
    tn_region_strides(data->rank, data->shape, strides);
    for (uint32_t i = 0; i < data->rank; i++)
        out_region->from_strides[i] = strides[axes[i]];
    return TN_OK;
}

tn_status tn_transpose_move(tn_call *call, tn_region_mover mover) {
    tn_region region;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(tn_transpose_region(call, &region));
    return mover(call, &region, call->outputs[0]->data, call->inputs[0]->data);
}

static tn_status transpose_reference(tn_call *call) {
    return tn_transpose_move(call, tn_region_copy);
}

static const tn_port transpose_inputs[] = {TN_PORT("data", "T:any", 0, "any tensor")};
static const tn_port transpose_outputs[] = {
    TN_PORT("transposed", "T", 0, "the tensor with its axes in the other order")};
static const char *const transpose_cases[] = {
    "| data=f32[2,3,4]",
    "perm=[1,0] | data=f32[33,17]",
    "perm=[1,2,0] | data=i32[3,17,35]",
    "perm=[0,2,3,1] | data=f32[2,3,5,7]",
    "perm=[0,3,1,2] | data=f16[2,5,7,3]",
    "perm=[0,2,1,3] | data=i64[2,9,4,8]",
    "perm=[2,0,1] | data=u8[3,1,70]",
    "perm=[1,0] | data=f32[0,5]",
    "| data=f64[]",
    "perm=[0,1,2] | data=bool[2,3,4]",
    "perm=[4,3,2,1,0] | data=f32[2,3,4,5,6]",
    "perm=[0,2,1] | data=f32[12,128,64]",
    "perm=[0,3,1,2] | data=f32[1,56,56,64]",
};

TN_OPERATOR(transpose, "", "Transpose", 1, "A tensor with its axes in another order.",
            TN_FIELDS(tn_transpose_params, transpose_fields),
            .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY,
            .is_identity = transpose_is_identity);

TN_LAYER(transpose, TN_OPERATORS(&transpose_1), tn_transpose_kernels);

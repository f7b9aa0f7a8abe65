/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Squeeze: a tensor without some of its axes, each of which has one element. The axes are a field
 * before opset 13 and an input from then on. A view: no kernel ever runs for it.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

typedef struct squeeze_params {
    uint64_t present;
    tn_i64s axes;
} squeeze_params;

static const tn_field squeeze_1_fields[] = {
    TN_FIELD(squeeze_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "axes to leave out; absent: all that have one element"),
};

/* Bit (1 << axis) of each axis that goes. */
static tn_status read_axes(tn_call *call, uint32_t *out_mask) {
    const tn_tensor *data = call->inputs[0];
    const squeeze_params *params = call->params;
    int64_t axes[TN_MAX_RANK];
    uint32_t count = 0, mask = 0;
    if (tn_infer_input(call, 1)) {
        TN_TRY(tn_infer_integers(call, 1, TN_MAX_RANK, axes, &count));
        return tn_infer_axes(call, "'axes'", count, axes, data->rank, out_mask);
    }
    if (call->op->since_version < 13 && params->present & 1)
        return tn_infer_axes(call, "field 'axes'", params->axes.count, params->axes.items,
                             data->rank, out_mask);
    for (uint32_t i = 0; i < data->rank; i++)
        if (data->shape[i] == 1) mask |= 1u << i;
    *out_mask = mask;
    return TN_OK;
}

static tn_status squeeze_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t mask = 0, rank = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_axes(call, &mask));
    const tn_tensor *data = call->inputs[0];
    for (uint32_t i = 0; i < data->rank; i++) {
        if (!(mask >> i & 1))
            shape[rank++] = data->shape[i];
        else if (data->shape[i] != 1)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements and cannot be left out", i,
                                    (long long)data->shape[i]);
    }
    return tn_infer_set_shape(call, 0, rank, shape);
}

static tn_status squeeze_reference(tn_call *call) {
    tn_element_copy(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port squeeze_1_inputs[] = {TN_PORT("data", "T:any", 0, "any tensor")};
static const tn_port squeeze_13_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "axes to leave out; absent: all that have one element"),
};
static const tn_port squeeze_outputs[] = {TN_PORT_VIEW_OF("squeezed", "T", 0, "the same elements")};
static const char *const squeeze_1_cases[] = {
    "| data=f32[1,3,1,2]",
    "axes=[0,-2] | data=f32[1,3,1,2]",
    "axes=[1] | data=i8[0,1]",
};
static const char *const squeeze_13_cases[] = {
    "| data=f32[1,3,1,2]",
    "| data=f16[1,3,1,2] axes=i64[2]{0,-2}",
    "| data=bool[1] axes=i64[1]{0}",
};

TN_OPERATOR_VERSION(squeeze, "", "Squeeze", 1, "Leaves out axes of one element, by a field.",
                    TN_FIELDS(squeeze_params, squeeze_1_fields), TN_INPUTS(squeeze_1_inputs),
                    TN_OUTPUTS(squeeze_outputs), TN_CASES(squeeze_1_cases),
                    .traits = TN_OPERATOR_SELECTS);
TN_OPERATOR_VERSION(squeeze, "", "Squeeze", 13, "Leaves out axes of one element, by an input.",
                    TN_NO_FIELDS, TN_INPUTS(squeeze_13_inputs), TN_OUTPUTS(squeeze_outputs),
                    TN_CASES(squeeze_13_cases), .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(squeeze, TN_OPERATORS(&squeeze_1, &squeeze_13));

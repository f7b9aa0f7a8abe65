/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsqueeze: a tensor with axes of one element put in. The axes, counted in the output, are a field
 * before opset 13 and an input from then on. A view: no kernel ever runs for it.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

typedef struct unsqueeze_params {
    uint64_t present;
    tn_i64s axes;
} unsqueeze_params;

static const tn_field unsqueeze_1_fields[] = {
    TN_FIELD(unsqueeze_params, axes, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "axes of the output that are new; negative: from the end"),
};

static tn_status set_shape(tn_call *call, const char *what, uint64_t count, const int64_t *axes) {
    const tn_tensor *data = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    uint32_t mask = 0, at = 0;
    if (count > TN_MAX_RANK - data->rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "%s has %llu axes: the output would have more than %d", what,
                                (unsigned long long)count, TN_MAX_RANK);
    const uint32_t rank = data->rank + (uint32_t)count;
    TN_TRY(tn_infer_axes(call, what, count, axes, rank, &mask));
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = mask >> i & 1 ? 1 : data->shape[at++];
    return tn_infer_set_shape(call, 0, rank, shape);
}

static tn_status unsqueeze_infer(tn_call *call) {
    const unsqueeze_params *params = call->params;
    int64_t axes[TN_MAX_RANK];
    uint32_t count = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    if (call->op->since_version < 13)
        return set_shape(call, "field 'axes'", params->axes.count, params->axes.items);
    TN_TRY(tn_infer_integers(call, 1, TN_MAX_RANK, axes, &count));
    return set_shape(call, "'axes'", count, axes);
}

static tn_status unsqueeze_reference(tn_call *call) {
    tn_element_copy(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port unsqueeze_1_inputs[] = {TN_PORT("data", "T:any", 0, "any tensor")};
static const tn_port unsqueeze_13_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("axes", "i64", TN_PORT_VALUE_NEEDED,
            "axes of the output that are new; negative: from the end"),
};
static const tn_port unsqueeze_outputs[] = {
    TN_PORT_VIEW_OF("expanded", "T", 0, "the same elements")};
static const char *const unsqueeze_1_cases[] = {
    "axes=[0] | data=f32[3,4]",
    "axes=[-1,1] | data=f32[3,4]",
    "axes=[0] | data=i8[]",
};
static const char *const unsqueeze_13_cases[] = {
    "| data=f32[3,4] axes=i64[1]{0}",
    "| data=f16[3,4] axes=i64[3]{4,-4,0}",
    "| data=bool[0] axes=i64[1]{1}",
};

TN_OPERATOR_VERSION(unsqueeze, "", "Unsqueeze", 1, "Puts in axes of one element, by a field.",
                    TN_FIELDS(unsqueeze_params, unsqueeze_1_fields), TN_INPUTS(unsqueeze_1_inputs),
                    TN_OUTPUTS(unsqueeze_outputs), TN_CASES(unsqueeze_1_cases),
                    .traits = TN_OPERATOR_SELECTS);
TN_OPERATOR_VERSION(unsqueeze, "", "Unsqueeze", 13, "Puts in axes of one element, by an input.",
                    TN_NO_FIELDS, TN_INPUTS(unsqueeze_13_inputs), TN_OUTPUTS(unsqueeze_outputs),
                    TN_CASES(unsqueeze_13_cases), .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(unsqueeze, TN_OPERATORS(&unsqueeze_1, &unsqueeze_13));

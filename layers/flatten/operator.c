/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flatten: the same elements as a matrix, the axes before `axis` as rows and the others as columns.
 * A view: no kernel ever runs for it.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

typedef struct flatten_params {
    uint64_t present;
    int64_t axis;
} flatten_params;

static const tn_field flatten_fields[] = {
    TN_FIELD(flatten_params, axis, TN_FIELD_I64, TN_OPTIONAL, "1",
             "first axis that goes into the columns; negative: from the end; the rank: none does"),
};

static tn_status flatten_infer(tn_call *call) {
    const flatten_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *input = call->inputs[0];
    uint32_t axis = input->rank;
    if (params->axis != (int64_t)input->rank)
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, input->rank, &axis));
    int64_t shape[2] = {tn_infer_product(input->shape, 0, axis),
                        tn_infer_product(input->shape, axis, input->rank)};
    return tn_infer_set_shape(call, 0, 2, shape);
}

static tn_status flatten_reference(tn_call *call) {
    tn_element_copy(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port flatten_inputs[] = {TN_PORT("input", "T:any", 0, "any tensor")};
static const tn_port flatten_outputs[] = {
    TN_PORT_VIEW_OF("output", "T", 0, "a matrix of the same elements")};
static const char *const flatten_cases[] = {
    "| input=f32[2,3,4,5]",         "axis=0 | input=f32[2,3,4]", "axis=3 | input=f32[2,3,4]",
    "axis=-1 | input=f16[2,3,5]",   "axis=0 | input=f32[]",      "axis=2 | input=i8[0,3,4]",
    "axis=1 | input=bool[7,1,3,1]",
};

TN_OPERATOR(flatten, "", "Flatten", 1, "Flattens a tensor into a matrix.",
            TN_FIELDS(flatten_params, flatten_fields), .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(flatten, TN_OPERATORS(&flatten_1));

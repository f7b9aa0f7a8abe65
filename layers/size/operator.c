/* SPDX-License-Identifier: Apache-2.0 */
/* Size: how many elements a tensor has. Reads none of them. */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

static tn_status size_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    return tn_infer_set_shape(call, 0, 0, NULL);
}

static tn_status size_reference(tn_call *call) {
    *(int64_t *)call->outputs[0]->data = tn_element_count(call->inputs[0]);
    return TN_OK;
}

static const tn_port size_inputs[] = {
    TN_PORT("data", "any", TN_PORT_SHAPE_ONLY, "any tensor; its elements are not read"),
};
static const tn_port size_outputs[] = {TN_PORT("size", "i64", 0, "the number of its elements")};
static const char *const size_cases[] = {
    "| data=f32[2,3,4,5]",
    "| data=f32[]",
    "| data=i8[2,0,4]",
    "| data=bool[7]",
};

TN_OPERATOR(size, "", "Size", 1, "The number of a tensor's elements.", TN_NO_FIELDS);

TN_LAYER_WITHOUT_KERNELS(size, TN_OPERATORS(&size_1));

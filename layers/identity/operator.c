/* SPDX-License-Identifier: Apache-2.0 */
/* Identity: a tensor as it is. Dropped when a network is built, else a view: no kernel runs. */
#include "kit/elementwise/unary.h"
#include "kit/math/element.h"
#include "kit/operator/layer.h"

static tn_status identity_reference(tn_call *call) {
    tn_element_copy(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port identity_inputs[] = {TN_PORT("input", "T:any", 0, "any tensor")};
static const tn_port identity_outputs[] = {TN_PORT_VIEW_OF("output", "T", 0, "the same")};
static const char *const identity_cases[] = {
    "| input=f32[2,3,4]", "| input=i64[]", "| input=bool[7]", "| input=f16[3,0]", "| input=u8[1]",
};

static const tn_operator identity_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY | TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Identity",
    .doc = "Nothing.",
    TN_NO_FIELDS,
    TN_INPUTS(identity_inputs),
    TN_OUTPUTS(identity_outputs),
    .infer = tn_unary_infer,
    .reference = identity_reference,
    TN_CASES(identity_cases),
};

TN_LAYER_WITHOUT_KERNELS(identity, TN_OPERATORS(&identity_1));

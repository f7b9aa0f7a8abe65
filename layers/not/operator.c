/* SPDX-License-Identifier: Apache-2.0 */
/* Not: true where the input is false, element by element. */
#include "kit/elementwise/unary.h"
#include "kit/math/element.h"
#include "kit/operator/layer.h"

static tn_status not_reference(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    const int64_t count = tn_element_count(call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        y[i] = !x[i];
    return TN_OK;
}

static const tn_port not_inputs[] = {
    TN_PORT("X", "bool", 0, "any tensor"),
};
static const tn_port not_outputs[] = {
    TN_PORT("Y", "bool", 0, "the contrary"),
};
static const char *const not_cases[] = {
    "| X=bool[2]{0,1}",
    "| X=bool[]{1}",
    "| X=bool[3,0,2]",
    "| X=bool[2,3,5,7]",
};

static const tn_operator not_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Not",
    .doc = "Logical negation.",
    TN_NO_FIELDS,
    TN_INPUTS(not_inputs),
    TN_OUTPUTS(not_outputs),
    .infer = tn_unary_infer,
    .reference = not_reference,
    .expression = "!X",
    TN_CASES(not_cases),
};

static const tn_operator *const not_operators[] = {&not_1};
TN_LAYER_WITHOUT_KERNELS(not, not_operators);

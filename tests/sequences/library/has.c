/* SPDX-License-Identifier: Apache-2.0 */
/* OptionalHasElement: whether there is one. By its reference alone. */
#include "sequences.h"

static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = 0;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    uint64_t count = 0;
    const tn_status status = lists(call)->length(call, call->inputs[0], &count);
    *(bool *)call->outputs[0]->data = count > 0;
    return status;
}

static const tn_port inputs[] = {TN_PORT("input", "opt(any)", 0, "with an element or without")};
static const tn_port outputs[] = {TN_PORT("output", "bool", 0, "a scalar")};
static const char *const cases[] = {"| input=f32[2]", "| input=f32"};
const tn_operator has_operator = {SEQUENCE_OPERATOR("OptionalHasElement", "whether there is one"),
                                  TN_INPUTS(inputs), TN_OUTPUTS(outputs), TN_CASES(cases)};

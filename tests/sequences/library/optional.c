/* SPDX-License-Identifier: Apache-2.0 */
/* Optional: one with an element, or without, whose type a field then says. By its reference alone.
 */
#include "sequences.h"

typedef struct optional_params {
    uint64_t present;
    tn_type type;
} optional_params;

static tn_status infer(tn_call *call) {
    const optional_params *params = call->params;
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    if (call->inputs[0])
        join(call->outputs[0], call->inputs[0], true);
    else
        call->outputs[0]->type = params->type;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    return call->inputs[0] ? add_copy(call, call->outputs[0], call->inputs[0]) : TN_OK;
}

static const tn_field fields[] = {
    TN_FIELD(optional_params, type, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "without an element")};
static const tn_port inputs[] = {TN_PORT("input", "T:any", TN_PORT_OPTIONAL, "the element")};
static const tn_port outputs[] = {TN_PORT("output", "opt(T)", 0, "with it or without")};
static const char *const cases[] = {"| input=f32[2,3]", "type=i64 |"};
const tn_operator optional_operator = {SEQUENCE_OPERATOR("Optional", "an optional"),
                                       TN_FIELDS(optional_params, fields), TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs), TN_CASES(cases)};

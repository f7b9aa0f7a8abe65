/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceEmpty: a sequence without items, of a type that a field says. */
#include "sequences.h"

typedef struct empty_params {
    uint64_t present;
    tn_type dtype;
} empty_params;

static tn_status infer(tn_call *call) {
    const empty_params *params = call->params;
    call->outputs[0]->type = params->dtype;
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    (void)call;
    return TN_OK;
}

static const tn_field fields[] = {
    TN_FIELD(empty_params, dtype, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "of the items to come")};
static const tn_port outputs[] = {TN_PORT("sequence", "seq(any)", 0, "no items")};
static const char *const cases[] = {"dtype=i32 |", "|"};
const tn_operator empty_operator = {SEQUENCE_OPERATOR("SequenceEmpty", "a sequence without items"),
                                    TN_FIELDS(empty_params, fields), TN_NO_INPUTS,
                                    TN_OUTPUTS(outputs), TN_CASES(cases)};

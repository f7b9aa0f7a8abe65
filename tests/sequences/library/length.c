/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceLength: how many items there are. */
#include "sequences.h"

static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = 0;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    uint64_t count = 0;
    const tn_status status = lists(call)->length(call, call->inputs[0], &count);
    *(int64_t *)call->outputs[0]->data = (int64_t)count;
    return status;
}

static const tn_port inputs[] = {TN_PORT("input_sequence", "seq(any)", 0, "the items")};
static const tn_port outputs[] = {TN_PORT("length", "i64", 0, "a scalar")};
static const char *const cases[] = {"| input_sequence=f32[2] input_sequence=f32[3,2]",
                                    "| input_sequence=bool"};
const tn_operator length_operator = {SEQUENCE_OPERATOR("SequenceLength", "the number of items"),
                                     TN_INPUTS(inputs), TN_OUTPUTS(outputs), TN_CASES(cases)};
const tn_kernel length_kernel = {SEQUENCE_KERNEL("SequenceLength", "asks")};

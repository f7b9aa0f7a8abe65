/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceInsert: a sequence with one item more, at a position or at the end. */
#include "sequences.h"

static tn_status infer(tn_call *call) {
    join(call->outputs[0], call->inputs[0], true);
    join(call->outputs[0], call->inputs[1], false);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *list = call->inputs[0];
    uint64_t count = 0, at = 0;
    tn_status status = lists(call)->length(call, list, &count);
    if (status == TN_OK) status = read_index(call, call->inputs[2], count, count, &at);
    if (status == TN_OK) status = add_items(call, call->outputs[0], list, 0, at);
    if (status == TN_OK) status = add_copy(call, call->outputs[0], call->inputs[1]);
    return status == TN_OK ? add_items(call, call->outputs[0], list, at, count) : status;
}

static const tn_port inputs[] = {
    TN_PORT("input_sequence", "seq(T:any)", 0, "the others"),
    TN_PORT("tensor", "T", 0, "the new item"),
    TN_PORT("position", "i64", TN_PORT_OPTIONAL, "before which one; the end"),
};
static const tn_port outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "one item more")};
static const char *const cases[] = {
    "| input_sequence=f32[2] input_sequence=f32[3] tensor=f32[4]",
    "| input_sequence=f32[2] input_sequence=f32[3] tensor=f32[4] position=i64[]{0}",
    "| input_sequence=i8 tensor=i8[1,2]"};
const tn_operator insert_operator = {SEQUENCE_OPERATOR("SequenceInsert", "one item more"),
                                     TN_INPUTS(inputs), TN_OUTPUTS(outputs), TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, i64? -> f32"};
const tn_kernel insert_kernel = {SEQUENCE_KERNEL("SequenceInsert", "shares the others"),
                                 TN_COMBINATIONS(combinations)};

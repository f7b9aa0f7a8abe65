/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceErase: a sequence without the item at a position, or without the last. By its reference
 * alone. */
#include "sequences.h"

static tn_status infer(tn_call *call) {
    join(call->outputs[0], call->inputs[0], true);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *list = call->inputs[0];
    uint64_t count = 0, at = 0;
    tn_status status = lists(call)->length(call, list, &count);
    if (status == TN_OK) status = read_index(call, call->inputs[1], count, count - 1, &at);
    if (status == TN_OK && at >= count)
        return call->host->fail(call, TN_ERROR_RANGE, "there is no item to erase");
    if (status == TN_OK) status = add_items(call, call->outputs[0], list, 0, at);
    return status == TN_OK ? add_items(call, call->outputs[0], list, at + 1, count) : status;
}

static const tn_port inputs[] = {
    TN_PORT("input_sequence", "seq(T:any)", 0, "all items"),
    TN_PORT("position", "i64", TN_PORT_OPTIONAL, "which one; the last"),
};
static const tn_port outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "one item less")};
static const char *const cases[] = {
    "| input_sequence=f32[2] input_sequence=f32[3]",
    "| input_sequence=f32[2] input_sequence=f32[3] position=i64[]{-2}"};
const tn_operator erase_operator = {SEQUENCE_OPERATOR("SequenceErase", "one item less"),
                                    TN_INPUTS(inputs), TN_OUTPUTS(outputs), TN_CASES(cases)};

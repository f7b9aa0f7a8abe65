/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a list: SequenceAt, whose output has the shape of the item, and SequenceLength.
 */
#include "sequence.h"

static tn_status find_item(tn_call *call, const tn_tensor **out_item) {
    const tn_sequence_service *lists = tn_sequence_lists(call);
    uint64_t length = 0, at = 0;
    TN_TRY(lists->length(call, call->inputs[0], &length));
    TN_TRY(tn_sequence_position(call, 1, length, (int64_t)length - 1, 0, &at));
    return lists->item(call, call->inputs[0], at, out_item);
}

static tn_status at_infer(tn_call *call) {
    const tn_tensor *item = call->inputs[0];
    if (item->data) TN_TRY(find_item(call, &item));
    tn_sequence_join(call->outputs[0], item, true);
    return TN_OK;
}

static tn_status at_reference(tn_call *call) {
    const tn_tensor *item = NULL;
    TN_TRY(find_item(call, &item));
    return tn_sequence_copy(call, item);
}

static const tn_port at_inputs[] = {
    TN_PORT("input_sequence", "seq(T:any|string)", 0, "the items"),
    TN_PORT("position", "i32|i64", TN_PORT_VALUE_NEEDED, "which one, from the end where negative"),
};
static const tn_port at_outputs[] = {TN_PORT("tensor", "T", 0, "that item")};
static const char *const at_cases[] = {
    "| input_sequence=f32[2] input_sequence=f32[3,2] position=i64[]{1}",
    "| input_sequence=u8[2] position=i32[]{-1}",
    "| input_sequence=string[2,2] input_sequence=string[1] position=i64[]{0}"};
const tn_operator tn_sequence_at =
    TN_OPERATOR_TABLE(at, "", "SequenceAt", 11, "One item of a sequence.", TN_NO_FIELDS);

static tn_status length_infer(tn_call *call) {
    return tn_infer_set_shape(call, 0, 0, NULL);
}

static tn_status length_reference(tn_call *call) {
    uint64_t length = 0;
    TN_TRY(tn_sequence_lists(call)->length(call, call->inputs[0], &length));
    *(int64_t *)call->outputs[0]->data = (int64_t)length;
    return TN_OK;
}

static const tn_port length_inputs[] = {
    TN_PORT("input_sequence", "seq(any|string)", 0, "the items")};
static const tn_port length_outputs[] = {TN_PORT("length", "i64", 0, "a scalar")};
static const char *const length_cases[] = {"| input_sequence=f32[2] input_sequence=f32[3,2]",
                                           "| input_sequence=bool"};
const tn_operator tn_sequence_length = TN_OPERATOR_TABLE(
    length, "", "SequenceLength", 11, "The number of items of a sequence.", TN_NO_FIELDS);

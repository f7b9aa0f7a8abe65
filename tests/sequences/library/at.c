/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceAt: a copy of one item. Its shape is the item's, which the shape rule looks at. */
#include "sequences.h"

#include <string.h>

static tn_status find(tn_call *call, const tn_tensor **out_item) {
    const tn_sequence_service *service = lists(call);
    uint64_t count = 0, at = 0;
    tn_status status = service->length(call, call->inputs[0], &count);
    if (status == TN_OK) status = read_index(call, call->inputs[1], count, 0, &at);
    return status == TN_OK ? service->item(call, call->inputs[0], at, out_item) : status;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *item = call->inputs[0];
    const tn_status status = item->data ? find(call, &item) : TN_OK;
    if (status == TN_OK) join(call->outputs[0], item, true);
    return status;
}

static tn_status run(tn_call *call) {
    const tn_tensor *item = NULL;
    const tn_status status = find(call, &item);
    if (status == TN_OK) memcpy(call->outputs[0]->data, item->data, item->bytes);
    return status;
}

static const tn_port inputs[] = {
    TN_PORT("input_sequence", "seq(T:any)", 0, "the items"),
    TN_PORT("position", "i64", TN_PORT_VALUE_NEEDED, "which one"),
};
static const tn_port outputs[] = {TN_PORT("tensor", "T", 0, "that item")};
static const char *const cases[] = {
    "| input_sequence=f32[2] input_sequence=f32[3,2] position=i64[]{1}",
    "| input_sequence=u8[2] position=i64[]{-1}"};
const tn_operator at_operator = {SEQUENCE_OPERATOR("SequenceAt", "one item"), TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs), TN_CASES(cases)};
const tn_kernel at_kernel = {SEQUENCE_KERNEL("SequenceAt", "copies")};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that are made and changed: SequenceEmpty, SequenceConstruct, SequenceInsert and
 * SequenceErase. Items that stay are shared with the list that they come from.
 */
#include "sequence.h"

#define NUMBER "i32|i64"

/* ----------------------------------------------------------------------------------------------
 * SequenceEmpty */

typedef struct empty_params {
    uint64_t present;
    tn_type dtype;
} empty_params;

static tn_status empty_infer(tn_call *call) {
    const empty_params *params = call->params;
    tn_infer_set_type(call, 0, params->dtype);
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}

static tn_status empty_reference(tn_call *call) {
    (void)call;
    return TN_OK;
}

static const tn_field empty_fields[] = {
    TN_FIELD(empty_params, dtype, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "of the items to come")};
static const tn_port empty_outputs[] = {TN_PORT("output", "seq(any|string)", 0, "no items")};
static const char *const empty_cases[] = {"dtype=i32 |", "|"};
const tn_operator tn_sequence_empty = {
    TN_OPERATOR_BEGIN("", "SequenceEmpty", 11, "A sequence without items."),
    .infer = empty_infer,
    .reference = empty_reference,
    TN_FIELDS(empty_params, empty_fields),
    TN_NO_INPUTS,
    TN_OUTPUTS(empty_outputs),
    TN_CASES(empty_cases)};

/* ----------------------------------------------------------------------------------------------
 * SequenceConstruct */

static tn_status construct_infer(tn_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        tn_sequence_join(call->outputs[0], call->inputs[i], i == 0);
    return TN_OK;
}

static tn_status construct_reference(tn_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        TN_TRY(tn_sequence_add(call, call->outputs[0], call->inputs[i]));
    return TN_OK;
}

static const tn_port construct_inputs[] = {
    TN_PORT("inputs", "T:any|string", TN_PORT_VARIADIC, "the items")};
static const tn_port construct_outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "all of them")};
static const char *const construct_cases[] = {
    "| inputs=f32[2,3]", "| inputs=f32[2] inputs=f32[3,1] inputs=f32[]",
    "| inputs=i64[2] inputs=i64[2]", "| inputs=string[2]{a,} inputs=string[]{bc}"};
const tn_operator tn_sequence_construct = TN_OPERATOR_TABLE(
    construct, "", "SequenceConstruct", 11, "A sequence of the inputs.", TN_NO_FIELDS);

/* ----------------------------------------------------------------------------------------------
 * SequenceInsert */

enum { INSERT_LIST = 0, INSERT_TENSOR = 1, INSERT_POSITION = 2 };

/* A list without items has nothing in common with the new one but its type. */
static tn_status insert_infer(tn_call *call) {
    const tn_tensor *list = call->inputs[INSERT_LIST];
    uint64_t length = 1;
    if (list->data) TN_TRY(tn_sequence_lists(call)->length(call, list, &length));
    if (length > 0) tn_sequence_join(call->outputs[0], list, true);
    tn_sequence_join(call->outputs[0], call->inputs[INSERT_TENSOR], length == 0);
    return TN_OK;
}

static tn_status insert_reference(tn_call *call) {
    const tn_tensor *list = call->inputs[INSERT_LIST];
    uint64_t length = 0, at = 0;
    TN_TRY(tn_sequence_lists(call)->length(call, list, &length));
    TN_TRY(tn_sequence_position(call, INSERT_POSITION, length, (int64_t)length, length, &at));
    TN_TRY(tn_sequence_add_items(call, call->outputs[0], list, 0, at));
    TN_TRY(tn_sequence_add(call, call->outputs[0], call->inputs[INSERT_TENSOR]));
    return tn_sequence_add_items(call, call->outputs[0], list, at, length);
}

static const tn_port insert_inputs[] = {
    TN_PORT("input_sequence", "seq(T:any|string)", 0, "the others"),
    TN_PORT("tensor", "T", 0, "the new item"),
    TN_PORT("position", NUMBER, TN_PORT_OPTIONAL,
            "before which one, from the end where negative; absent: at the end"),
};
static const tn_port insert_outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "one item more")};
static const char *const insert_cases[] = {
    "| input_sequence=f32[2] input_sequence=f32[3] tensor=f32[4]",
    "| input_sequence=f32[2] input_sequence=f32[3] tensor=f32[4] position=i64[]{0}",
    "| input_sequence=f32[2] input_sequence=f32[3] tensor=f32[4] position=i32[]{-1}",
    "| input_sequence=i8 tensor=i8[1,2]",
    "| input_sequence=string[2] tensor=string[3] position=i64[]{0}"};
const tn_operator tn_sequence_insert = TN_OPERATOR_TABLE(
    insert, "", "SequenceInsert", 11, "A sequence with one item more.", TN_NO_FIELDS);

/* ----------------------------------------------------------------------------------------------
 * SequenceErase */

static tn_status erase_infer(tn_call *call) {
    tn_sequence_join(call->outputs[0], call->inputs[0], true);
    return TN_OK;
}

static tn_status erase_reference(tn_call *call) {
    const tn_tensor *list = call->inputs[0];
    uint64_t length = 0, at = 0;
    TN_TRY(tn_sequence_lists(call)->length(call, list, &length));
    if (length == 0)
        return call->host->fail(call, TN_ERROR_RANGE, "a sequence without items has none to erase");
    TN_TRY(tn_sequence_position(call, 1, length, (int64_t)length - 1, length - 1, &at));
    TN_TRY(tn_sequence_add_items(call, call->outputs[0], list, 0, at));
    return tn_sequence_add_items(call, call->outputs[0], list, at + 1, length);
}

static const tn_port erase_inputs[] = {
    TN_PORT("input_sequence", "seq(T:any|string)", 0, "all items"),
    TN_PORT("position", NUMBER, TN_PORT_OPTIONAL,
            "which one, from the end where negative; absent: the last"),
};
static const tn_port erase_outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "one item less")};
static const char *const erase_cases[] = {
    "| input_sequence=f32[2] input_sequence=f32[3]",
    "| input_sequence=f32[2] input_sequence=f32[3] position=i64[]{-2}"};
const tn_operator tn_sequence_erase = TN_OPERATOR_TABLE(
    erase, "", "SequenceErase", 11, "A sequence with one item less.", TN_NO_FIELDS);

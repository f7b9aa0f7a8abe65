/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optionals of sequences: what ONNX's Optional, OptionalHasElement and OptionalGetElement are of
 * those, operators of their own, since a port is of one kind. The importer of ONNX knows which.
 */
#include "sequence.h"

/* ----------------------------------------------------------------------------------------------
 * OptionalSequence */

typedef struct optional_params {
    uint64_t present;
    tn_type type;
} optional_params;

static tn_status optional_infer(tn_call *call) {
    const optional_params *params = call->params;
    return tn_sequence_infer_optional(call, params->type);
}

static tn_status optional_reference(tn_call *call) {
    const tn_sequence_service *lists = tn_sequence_lists(call);
    const tn_tensor *element = tn_infer_input(call, 0);
    uint64_t length = 0;
    if (!element) return TN_OK;
    TN_TRY(lists->set_element(call, call->outputs[0]));
    TN_TRY(lists->length(call, element, &length));
    return tn_sequence_add_items(call, call->outputs[0], element, 0, length);
}

static const tn_field optional_fields[] = {TN_FIELD(
    optional_params, type, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "of the items, where it is absent")};
static const tn_port optional_inputs[] = {
    TN_PORT("input", "seq(T:any|string)", TN_PORT_OPTIONAL, "the sequence; absent: there is none")};
static const tn_port optional_outputs[] = {
    TN_PORT("output", "opt(seq(T))", 0, "with it or without")};
static const char *const optional_cases[] = {"| input=f32[2,3] input=f32[1]", "| input=i32",
                                             "type=i64 |"};
const tn_operator tn_sequence_optional_sequence = TN_OPERATOR_TABLE(
    optional, "Tenon", "OptionalSequence", 1, "An optional with a sequence, or without.",
    TN_FIELDS(optional_params, optional_fields));

/* ----------------------------------------------------------------------------------------------
 * OptionalHasSequence */

static tn_status has_infer(tn_call *call) {
    return tn_infer_set_shape(call, 0, 0, NULL);
}

static tn_status has_reference(tn_call *call) {
    return tn_sequence_lists(call)->has_element(call, call->inputs[0], call->outputs[0]->data);
}

static const tn_port has_inputs[] = {
    TN_PORT("input", "opt(seq(any|string))", 0, "with a sequence or without")};
static const tn_port has_outputs[] = {TN_PORT("output", "bool", 0, "a scalar")};
static const char *const has_cases[] = {"| input=f32[2] input=f32[3]", "| input=f32"};
const tn_operator tn_sequence_has_sequence = TN_OPERATOR_TABLE(
    has, "Tenon", "OptionalHasSequence", 1, "Whether an optional has a sequence.", TN_NO_FIELDS);

/* ----------------------------------------------------------------------------------------------
 * OptionalGetSequence */

static tn_status get_infer(tn_call *call) {
    tn_sequence_join(call->outputs[0], call->inputs[0], true);
    return TN_OK;
}

static tn_status get_reference(tn_call *call) {
    const tn_sequence_service *lists = tn_sequence_lists(call);
    bool has_element = false;
    uint64_t length = 0;
    TN_TRY(lists->has_element(call, call->inputs[0], &has_element));
    if (!has_element) return call->host->fail(call, TN_ERROR_RANGE, "the optional has no sequence");
    TN_TRY(lists->length(call, call->inputs[0], &length));
    return tn_sequence_add_items(call, call->outputs[0], call->inputs[0], 0, length);
}

static const tn_port get_inputs[] = {
    TN_PORT("input", "opt(seq(T:any|string))", 0, "with a sequence")};
static const tn_port get_outputs[] = {TN_PORT("output", "seq(T)", 0, "the sequence")};
static const char *const get_cases[] = {"| input=f32[2] input=f32[3,1]", "| input=i32[]"};
const tn_operator tn_sequence_get_sequence =
    TN_OPERATOR_TABLE(get, "Tenon", "OptionalGetSequence", 1,
                      "The sequence of an optional, which has one.", TN_NO_FIELDS);

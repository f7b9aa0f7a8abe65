/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional, OptionalHasElement and OptionalGetElement, of dense elements; of sequences:
 * optional_sequence.c. What opset 18 lets the last two read besides, a dense tensor or a sequence,
 * the importer of ONNX hands on.
 */
#include "sequence.h"

/* ----------------------------------------------------------------------------------------------
 * Optional */

typedef struct optional_params {
    uint64_t present;
    tn_type type;
} optional_params;

static tn_status optional_infer(tn_call *call) {
    const optional_params *params = call->params;
    return tn_sequence_infer_optional(call, params->type);
}

static tn_status optional_reference(tn_call *call) {
    const tn_tensor *element = tn_infer_input(call, 0);
    return element ? tn_sequence_add(call, call->outputs[0], element) : TN_OK;
}

static const tn_field optional_fields[] = {TN_FIELD(optional_params, type, TN_FIELD_TYPE,
                                                    TN_OPTIONAL, "f32",
                                                    "of the element, where it is absent")};
static const tn_port optional_inputs[] = {
    TN_PORT("input", "T:any|string", TN_PORT_OPTIONAL, "the element; absent: there is none")};
static const tn_port optional_outputs[] = {TN_PORT("output", "opt(T)", 0, "with it or without")};
static const char *const optional_cases[] = {"| input=f32[2,3]", "type=i64 |", "| input=string[2]"};
const tn_operator tn_sequence_optional =
    TN_OPERATOR_TABLE(optional, "", "Optional", 15, "An optional with an element, or without.",
                      TN_FIELDS(optional_params, optional_fields));

/* ----------------------------------------------------------------------------------------------
 * OptionalHasElement */

static tn_status has_infer(tn_call *call) {
    return tn_infer_set_shape(call, 0, 0, NULL);
}

static tn_status has_reference(tn_call *call) {
    uint64_t count = 0;
    const tn_tensor *input = tn_infer_input(call, 0);
    if (input) TN_TRY(tn_sequence_lists(call)->length(call, input, &count));
    *(bool *)call->outputs[0]->data = count > 0;
    return TN_OK;
}

static const tn_port has_15_inputs[] = {
    TN_PORT("input", "opt(any|string)", 0, "with an element or without")};
static const tn_port has_18_inputs[] = {
    TN_PORT("input", "opt(any|string)", TN_PORT_OPTIONAL,
            "with an element or without; absent: there is none")};
static const tn_port has_outputs[] = {TN_PORT("output", "bool", 0, "a scalar")};
static const char *const has_cases[] = {"| input=f32[2]", "| input=f32"};
#define HAS(version)                                                                               \
    const tn_operator tn_sequence_has_element_##version = {                                        \
        TN_OPERATOR_BEGIN("", "OptionalHasElement", version,                                       \
                          "Whether an optional has an element."),                                  \
        .infer = has_infer,                                                                        \
        .reference = has_reference,                                                                \
        TN_NO_FIELDS,                                                                              \
        TN_INPUTS(has_##version##_inputs),                                                         \
        TN_OUTPUTS(has_outputs),                                                                   \
        TN_CASES(has_cases)}
HAS(15);
HAS(18);

/* ----------------------------------------------------------------------------------------------
 * OptionalGetElement */

static tn_status get_infer(tn_call *call) {
    const tn_tensor *element = call->inputs[0];
    if (element->data) TN_TRY(tn_sequence_lists(call)->item(call, call->inputs[0], 0, &element));
    tn_sequence_join(call->outputs[0], element, true);
    return TN_OK;
}

static tn_status get_reference(tn_call *call) {
    const tn_tensor *element = NULL;
    TN_TRY(tn_sequence_lists(call)->item(call, call->inputs[0], 0, &element));
    return tn_sequence_copy(call, element);
}

static const tn_port get_inputs[] = {TN_PORT("input", "opt(T:any|string)", 0, "with an element")};
static const tn_port get_outputs[] = {TN_PORT("output", "T", 0, "the element")};
static const char *const get_cases[] = {"| input=f32[2]", "| input=i32[]", "| input=string[3]"};
const tn_operator tn_sequence_get_element = TN_OPERATOR_TABLE(
    get, "", "OptionalGetElement", 15, "The element of an optional, which has one.", TN_NO_FIELDS);

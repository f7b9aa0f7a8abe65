/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences and optionals of cases: a network's inputs and outputs are dense, so operators of a
 * library of the suite's own stand around the node, which make lists of dense tensors and spread
 * lists into dense tensors: a vector of all shapes, and one of all elements.
 */
#include "base/status.h"
#include "conformance.h"
#include "plugin/library.h"
#include "plugin/sequences/kinds.h"

#include <string.h>

#define DOMAIN "tenon.check"

static const tn_sequence_service *lists(const tn_call *call) {
    return call->host->extension(call->host, TN_SEQUENCES);
}

/* ----------------------------------------------------------------------------------------------
 * from tensors */

typedef struct gather_params {
    uint64_t present;
    tn_type type;
} gather_params;

static tn_status gather_infer(tn_call *call) {
    tn_tensor *output = call->outputs[0];
    output->type = ((const gather_params *)call->params)->type;
    output->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}

static tn_status gather_run(tn_call *call) {
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < call->input_count && status == TN_OK; i++) {
        const tn_tensor *input = call->inputs[i];
        void *data = NULL;
        status = lists(call)->append(call, call->outputs[0], input->rank, input->shape, &data);
        if (status == TN_OK && input->bytes > 0) memcpy(data, input->data, input->bytes);
    }
    return status;
}

static const tn_field gather_fields[] = {
    TN_FIELD(gather_params, type, TN_FIELD_TYPE, TN_REQUIRED, NULL, "of the items")};
static const tn_port gather_inputs[] = {
    TN_PORT("items", "any", TN_PORT_VARIADIC | TN_PORT_OPTIONAL, "of one type")};
static const tn_port sequence_outputs[] = {TN_PORT("list", "seq(any)", 0, "all items")};
static const tn_port optional_outputs[] = {TN_PORT("list", "opt(any)", 0, "the item")};

/* ----------------------------------------------------------------------------------------------
 * to tensors */

/* How many numbers all shapes are, each with its rank before it, and how many elements. */
static tn_status count(tn_call *call, int64_t *out_shapes, int64_t *out_elements) {
    const tn_tensor *item;
    uint64_t length = 0;
    *out_shapes = *out_elements = 0;
    tn_status status = lists(call)->length(call, call->inputs[0], &length);
    for (uint64_t i = 0; i < length && status == TN_OK; i++) {
        int64_t elements = 1;
        status = lists(call)->item(call, call->inputs[0], i, &item);
        for (uint32_t axis = 0; status == TN_OK && axis < item->rank; axis++)
            elements *= item->shape[axis];
        if (status != TN_OK) break;
        *out_shapes += 1 + item->rank;
        *out_elements += elements;
    }
    return status;
}

static tn_status spread_infer(tn_call *call) {
    call->outputs[0]->rank = call->outputs[1]->rank = 1;
    call->outputs[1]->type = call->inputs[0]->type;
    return call->inputs[0]->data
               ? count(call, &call->outputs[0]->shape[0], &call->outputs[1]->shape[0])
               : TN_OK;
}

static void copy_elements(const tn_tensor *item, tn_tensor *to, int64_t at, int64_t elements) {
    const size_t each = tn_type_bytes(item->type);
    if (each > 0 && elements > 0)
        memcpy((char *)to->data + (size_t)at * each, item->data, (size_t)elements * each);
    for (int64_t i = 0; each == 0 && i < elements; i++) /* a packed type */
        tn_element_set_f64(to->data, to->type, (size_t)(at + i),
                           tn_element_get_f64(item->data, item->type, (size_t)i));
}

static tn_status spread_run(tn_call *call) {
    int64_t *shapes = call->outputs[0]->data;
    const tn_tensor *item;
    uint64_t length = 0;
    int64_t at = 0;
    if (call->outputs[1]->bytes > 0) memset(call->outputs[1]->data, 0, call->outputs[1]->bytes);
    tn_status status = lists(call)->length(call, call->inputs[0], &length);
    for (uint64_t i = 0; i < length && status == TN_OK; i++) {
        int64_t elements = 1;
        status = lists(call)->item(call, call->inputs[0], i, &item);
        if (status != TN_OK) break;
        *shapes++ = item->rank;
        for (uint32_t axis = 0; axis < item->rank; axis++) {
            *shapes++ = item->shape[axis];
            elements *= item->shape[axis];
        }
        copy_elements(item, call->outputs[1], at, elements);
        at += elements;
    }
    return status;
}

static const tn_port sequence_inputs[] = {TN_PORT("list", "seq(any)", 0, "all items")};
static const tn_port optional_inputs[] = {TN_PORT("list", "opt(any)", 0, "the item")};
static const tn_port spread_outputs[] = {
    TN_PORT("shapes", "i64", 0, "of each item the rank and the extents"),
    TN_PORT("elements", "any", 0, "of all items"),
};

#define LIST_OPERATOR(operator_name)                                                               \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = DOMAIN,         \
    .name = (operator_name)
static const tn_operator to_sequence = {
    LIST_OPERATOR("ToSequence"), TN_FIELDS(gather_params, gather_fields),
    TN_INPUTS(gather_inputs),    TN_OUTPUTS(sequence_outputs),
    .infer = gather_infer,       .reference = gather_run};
static const tn_operator to_optional = {
    LIST_OPERATOR("ToOptional"), TN_FIELDS(gather_params, gather_fields),
    TN_INPUTS(gather_inputs),    TN_OUTPUTS(optional_outputs),
    .infer = gather_infer,       .reference = gather_run};
static const tn_operator from_sequence = {LIST_OPERATOR("FromSequence"), TN_NO_FIELDS,
                                          TN_INPUTS(sequence_inputs),    TN_OUTPUTS(spread_outputs),
                                          .infer = spread_infer,         .reference = spread_run};
static const tn_operator from_optional = {LIST_OPERATOR("FromOptional"), TN_NO_FIELDS,
                                          TN_INPUTS(optional_inputs),    TN_OUTPUTS(spread_outputs),
                                          .infer = spread_infer,         .reference = spread_run};
static const tn_operator *const operators[] = {&to_sequence, &to_optional, &from_sequence,
                                               &from_optional};
static tn_library *entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "tenon_check_lists",
                                 .version = "1",
                                 .operator_count = TN_COUNT(operators),
                                 .operators = operators};
    (void)host;
    return &library;
}

/* ----------------------------------------------------------------------------------------------
 * in a case's graph */

uint32_t tn_case_kind(const tn_port *port) {
    const char *text;
    size_t length;
    return tn_port_kind(port->types, &text, &length);
}

tn_status tn_case_take_lists(tn_runtime *runtime, const tn_operator *op) {
    const tn_operator_entry *found = NULL;
    tn_error_copy before;
    if (!tn_operator_has_kinds(op)) return TN_OK;
    tn_error_save(&before);
    if (tn_registry_find_operator_exact(tn_runtime_registry(runtime), DOMAIN, to_sequence.name, 1,
                                        &found) == TN_OK) {
        tn_library_release(found->library);
        return TN_OK;
    }
    tn_error_restore(&before);
    return tn_runtime_register_library(runtime, entry);
}

static tn_status add_node(tn_graph *graph, const char *op, const tn_attribute *attribute,
                          uint32_t input_count, const tn_tensor_id *inputs, uint32_t output_count,
                          tn_tensor_id *out_ids) {
    const tn_attribute *const attributes[] = {attribute};
    const tn_node_description node = {.size = sizeof(node),
                                      .version = 1,
                                      .domain = DOMAIN,
                                      .op = op,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = output_count,
                                      .attribute_count = attribute ? 1 : 0,
                                      .attributes = attributes};
    return tn_graph_add_node(graph, &node, out_ids);
}

tn_status tn_case_add_list(tn_graph *graph, uint32_t kind, tn_type type, uint32_t count_given,
                           const tn_tensor_id *items, tn_tensor_id *out_list) {
    const char *name = tn_type_name(type);
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_STRING, .name = "type", .s = name};
    return add_node(graph, kind == TN_KIND_SEQUENCE ? "ToSequence" : "ToOptional", &attribute,
                    count_given, items, 1, out_list);
}

tn_status tn_case_add_outputs(tn_graph *graph, uint32_t kind, tn_tensor_id tensor) {
    tn_tensor_id spread[2] = {tensor, TN_NO_TENSOR};
    if (kind != TN_KIND_DENSE)
        TN_TRY(add_node(graph, kind == TN_KIND_SEQUENCE ? "FromSequence" : "FromOptional", NULL, 1,
                        &tensor, 2, spread));
    TN_TRY(tn_graph_add_output(graph, spread[0], NULL));
    return kind == TN_KIND_DENSE ? TN_OK : tn_graph_add_output(graph, spread[1], NULL);
}

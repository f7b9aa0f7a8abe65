/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences, optionals and maps of cases: a network's inputs and outputs are dense here, so
 * operators of a library of the suite's own stand around the node, which make lists of dense
 * tensors and spread lists into dense tensors: a vector of all shapes, one of all elements, and, of
 * maps, one of all keys.
 */
#include "base/status.h"
#include "conformance.h"
#include "plugin/library.h"
#include "plugin/sequences/kinds.h"
#include "tensor/string.h"

#include <string.h>

#define DOMAIN "tenon.check"

static const tn_sequence_service *lists(const tn_call *call) {
    return call->host->extension(call->host, TN_SEQUENCES);
}

/* ----------------------------------------------------------------------------------------------
 * from tensors */

typedef struct gather_params {
    uint64_t present;
    tn_type type, key_type;
    bool has_element;
} gather_params;

static tn_status gather_infer(tn_call *call) {
    const gather_params *params = call->params;
    tn_tensor *output = call->outputs[0];
    output->type = params->type;
    output->rank = TN_RANK_UNKNOWN;
    if (tn_kind_is_map(output->kind)) tn_map_set_key_type(output, params->key_type);
    return TN_OK;
}

static tn_status gather_strings(tn_call *call, const tn_tensor *input) {
    const uint64_t count = input->bytes / sizeof(tn_string);
    const uint64_t bytes = tn_strings_heap_bytes(input->data, count, input->heap);
    tn_string *elements = NULL;
    char *heap = NULL;
    TN_TRY(lists(call)->append_strings(call, call->outputs[0], input->rank, input->shape, bytes,
                                       &elements, &heap));
    tn_strings_copy(input->data, count, input->heap, elements, heap);
    return TN_OK;
}

static tn_status gather_run(tn_call *call) {
    const gather_params *params = call->params;
    if (params->has_element) TN_TRY(lists(call)->set_element(call, call->outputs[0]));
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *input = call->inputs[i];
        void *data = NULL;
        if (input->type == TN_STRING) {
            TN_TRY(gather_strings(call, input));
            continue;
        }
        TN_TRY(lists(call)->append(call, call->outputs[0], input->rank, input->shape, &data));
        if (input->bytes > 0) memcpy(data, input->data, input->bytes);
    }
    return TN_OK;
}

static const tn_field gather_fields[] = {
    TN_FIELD(gather_params, type, TN_FIELD_TYPE, TN_REQUIRED, NULL, "of the items, or the values"),
    TN_FIELD(gather_params, key_type, TN_FIELD_TYPE, TN_OPTIONAL, "i64", "of the keys of maps"),
    TN_FIELD(gather_params, has_element, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "of an optional of a sequence: that it has one, perhaps without items"),
};
static const tn_port gather_inputs[] = {
    TN_PORT("items", "any|string", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL,
            "of one type, or keys and values")};

/* ----------------------------------------------------------------------------------------------
 * to tensors */

enum { SHAPES = 0, ELEMENTS = 1, KEYS = 2, SPREAD = 3 };

/* The output that an item's elements go to. */
static uint32_t target_of(const tn_tensor *list, uint64_t index) {
    return tn_kind_is_map(list->kind) && index % 2 == 0 ? KEYS : ELEMENTS;
}

/* How many numbers all shapes are, each with its rank before it, and how many elements. Of an
 * optional of a sequence a number says first whether it has one. */
static tn_status count(tn_call *call, int64_t counts[SPREAD]) {
    const tn_tensor *list = call->inputs[0], *item;
    uint64_t length = 0;
    counts[SHAPES] = list->kind == TN_KIND_OPTIONAL_SEQUENCE;
    counts[ELEMENTS] = counts[KEYS] = 0;
    TN_TRY(lists(call)->length(call, list, &length));
    for (uint64_t i = 0; i < length; i++) {
        int64_t elements = 1;
        TN_TRY(lists(call)->item(call, list, i, &item));
        for (uint32_t axis = 0; axis < item->rank; axis++)
            elements *= item->shape[axis];
        counts[SHAPES] += 1 + item->rank;
        counts[target_of(list, i)] += elements;
    }
    return TN_OK;
}

static tn_status spread_infer(tn_call *call) {
    int64_t counts[SPREAD] = {-1, -1, -1};
    const tn_tensor *list = call->inputs[0];
    if (list->data) TN_TRY(count(call, counts));
    for (uint32_t i = 0; i < call->output_count; i++) {
        call->outputs[i]->rank = 1;
        call->outputs[i]->shape[0] = counts[i];
    }
    call->outputs[ELEMENTS]->type = list->type;
    if (call->output_count > KEYS) call->outputs[KEYS]->type = tn_map_key_type(list);
    return TN_OK;
}

static tn_status copy_elements(tn_call *call, const tn_tensor *item, uint32_t output, int64_t at,
                               int64_t elements) {
    const tn_tensor *to = call->outputs[output];
    const size_t each = tn_type_bytes(item->type);
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    for (int64_t i = 0; item->type == TN_STRING && i < elements; i++) {
        tn_string *string = (tn_string *)to->data + at + i;
        const char *text = tn_string_at(item, (uint64_t)i, &string->bytes);
        TN_TRY(strings->append(call, output, text, string->bytes, &string->offset));
    }
    if (item->type == TN_STRING) return TN_OK;
    if (each > 0 && elements > 0)
        memcpy((char *)to->data + (size_t)at * each, item->data, (size_t)elements * each);
    for (int64_t i = 0; each == 0 && i < elements; i++) /* a packed type */
        tn_element_set_f64(to->data, to->type, (size_t)(at + i),
                           tn_element_get_f64(item->data, item->type, (size_t)i));
    return TN_OK;
}

static tn_status spread_run(tn_call *call) {
    const tn_tensor *list = call->inputs[0], *item;
    int64_t *shapes = call->outputs[SHAPES]->data, at[SPREAD] = {0};
    uint64_t length = 0;
    bool has_element = false;
    for (uint32_t i = ELEMENTS; i < call->output_count; i++)
        if (call->outputs[i]->bytes > 0) memset(call->outputs[i]->data, 0, call->outputs[i]->bytes);
    if (list->kind == TN_KIND_OPTIONAL_SEQUENCE) {
        TN_TRY(lists(call)->has_element(call, list, &has_element));
        *shapes++ = has_element;
    }
    TN_TRY(lists(call)->length(call, list, &length));
    for (uint64_t i = 0; i < length; i++) {
        const uint32_t output = target_of(list, i);
        int64_t elements = 1;
        TN_TRY(lists(call)->item(call, list, i, &item));
        *shapes++ = item->rank;
        for (uint32_t axis = 0; axis < item->rank; axis++) {
            *shapes++ = item->shape[axis];
            elements *= item->shape[axis];
        }
        TN_TRY(copy_elements(call, item, output, at[output], elements));
        at[output] += elements;
    }
    return TN_OK;
}

#define SPREAD_OUTPUTS                                                                             \
    TN_PORT("shapes", "i64", 0, "of each item the rank and the extents"),                          \
        TN_PORT("elements", "any|string", 0, "of all items")
static const tn_port spread_outputs[] = {SPREAD_OUTPUTS};
static const tn_port map_outputs[] = {SPREAD_OUTPUTS,
                                      TN_PORT("keys", "i64|string", 0, "of all maps")};

/* ----------------------------------------------------------------------------------------------
 * a pair of operators for each kind */

#define LIST_OPERATOR(operator_name)                                                               \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = DOMAIN,         \
    .name = (operator_name)
#define LIST_PAIR(prefix, of_name, types, its_outputs)                                             \
    static const tn_port prefix##_port[] = {TN_PORT("list", types, 0, "all items")};               \
    static const tn_operator to_##prefix = {                                                       \
        LIST_OPERATOR("To" of_name), TN_FIELDS(gather_params, gather_fields),                      \
        TN_INPUTS(gather_inputs),    TN_OUTPUTS(prefix##_port),                                    \
        .infer = gather_infer,       .reference = gather_run};                                     \
    static const tn_operator from_##prefix = {                                                     \
        LIST_OPERATOR("From" of_name), TN_NO_FIELDS,          TN_INPUTS(prefix##_port),            \
        TN_OUTPUTS(its_outputs),       .infer = spread_infer, .reference = spread_run}
LIST_PAIR(sequence, "Sequence", "seq(any|string)", spread_outputs);
LIST_PAIR(optional, "Optional", "opt(any|string)", spread_outputs);
LIST_PAIR(optional_sequence, "OptionalSequence", "opt(seq(any|string))", spread_outputs);
LIST_PAIR(map, "Map", "map(i64|string,any|string)", map_outputs);
LIST_PAIR(maps, "Maps", "seq(map(i64|string,any|string))", map_outputs);

static const tn_operator *const operators[] = {&to_sequence,
                                               &from_sequence,
                                               &to_optional,
                                               &from_optional,
                                               &to_optional_sequence,
                                               &from_optional_sequence,
                                               &to_map,
                                               &from_map,
                                               &to_maps,
                                               &from_maps};
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

/* The operator that makes lists of a kind, or spreads them. */
static const char *name_of(uint32_t kind, bool is_spread) {
    switch (kind) {
    case TN_KIND_OPTIONAL:
        return is_spread ? from_optional.name : to_optional.name;
    case TN_KIND_OPTIONAL_SEQUENCE:
        return is_spread ? from_optional_sequence.name : to_optional_sequence.name;
    case TN_KIND_MAP:
        return is_spread ? from_map.name : to_map.name;
    case TN_KIND_MAPS:
        return is_spread ? from_maps.name : to_maps.name;
    default:
        return is_spread ? from_sequence.name : to_sequence.name;
    }
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

static tn_status add_node(tn_graph *graph, const char *op, uint64_t attribute_count,
                          const tn_attribute *const *attributes, uint32_t input_count,
                          const tn_tensor_id *inputs, uint32_t output_count,
                          tn_tensor_id *out_ids) {
    const tn_node_description node = {.size = sizeof(node),
                                      .version = 1,
                                      .domain = DOMAIN,
                                      .op = op,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = output_count,
                                      .attribute_count = attribute_count,
                                      .attributes = attributes};
    return tn_graph_add_node(graph, &node, out_ids);
}

tn_status tn_case_add_list(tn_graph *graph, uint32_t kind, const tn_case_list *list,
                           uint32_t count_given, const tn_tensor_id *items,
                           tn_tensor_id *out_list) {
    const tn_attribute type = {.size = sizeof(type),
                               .type = TN_FIELD_STRING,
                               .name = "type",
                               .s = tn_type_name(list->type)};
    const tn_attribute key_type = {.size = sizeof(key_type),
                                   .type = TN_FIELD_STRING,
                                   .name = "key_type",
                                   .s = tn_type_name(list->key_type)};
    const tn_attribute has_element = {.size = sizeof(has_element),
                                      .type = TN_FIELD_I64,
                                      .name = "has_element",
                                      .i = list->has_element};
    const tn_attribute *const attributes[] = {&type, &has_element, &key_type};
    return add_node(graph, name_of(kind, false), tn_kind_is_map(kind) ? 3 : 2, attributes,
                    count_given, items, 1, out_list);
}

uint32_t tn_case_spread_count(uint32_t kind) {
    return kind == TN_KIND_DENSE ? 1 : tn_kind_is_map(kind) ? SPREAD : KEYS;
}

tn_status tn_case_add_outputs(tn_graph *graph, uint32_t kind, tn_tensor_id tensor) {
    tn_tensor_id spread[SPREAD] = {tensor};
    const uint32_t count_made = tn_case_spread_count(kind);
    if (kind != TN_KIND_DENSE)
        TN_TRY(add_node(graph, name_of(kind, true), 0, NULL, 1, &tensor, count_made, spread));
    for (uint32_t i = 0; i < count_made; i++)
        TN_TRY(tn_graph_add_output(graph, spread[i], NULL));
    return TN_OK;
}

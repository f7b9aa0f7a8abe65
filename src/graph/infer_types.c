/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of types: each port allows a set, and ports that share a type variable have one type.
 * The rules are the registry's reading of the operator's port table. Where shapes are not known
 * before a run types are found all the same: what ports leave open the operator's rule says, which
 * is asked with examples of shapes.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"
#include "tensor/type.h"

#include <tenon/plugin/sequence.h>

#include <inttypes.h>
#include <string.h>

#define TYPES_TEXT_BYTES 96

static const char *print_types(tn_type_set types, char *buffer) {
    size_t length = 0;
    buffer[0] = '\0';
    for (tn_type type = TN_F64; type < TN_TYPE_COUNT; type++) {
        if (!(types & TN_TYPE_BIT(type))) continue;
        const char *name = tn_type_name(type);
        size_t added = strlen(name) + (length > 0);
        if (length + added >= TYPES_TEXT_BYTES) break;
        if (length > 0) buffer[length++] = '|';
        memcpy(buffer + length, name, strlen(name) + 1);
        length += strlen(name);
    }
    return buffer;
}

static uint32_t rule_index(uint32_t count, uint32_t index) {
    return index < count ? index : count - 1;
}

static bool is_allowed(tn_type_set types, tn_type type) {
    return tn_type_is_valid(type) && (types & TN_TYPE_BIT(type)) != 0;
}

/* The first present input at a port with this variable: the one that bound it. */
static uint32_t binding_input(const tn_graph_node *node, const tn_tensor *const *inputs,
                              uint32_t variable) {
    const tn_operator_entry *entry = node->entry;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] && entry->inputs[rule_index(entry->op->input_count, i)].variable == variable)
            return i;
    return 0;
}

static tn_status fail_conflict(const tn_graph_node *node, const tn_tensor *const *inputs,
                               uint32_t index, uint32_t variable) {
    uint32_t first = binding_input(node, inputs, variable);
    return tn_fail(TN_ERROR_TYPE,
                   "input '%s' (tensor '%s') is %s, but input '%s' (tensor '%s') is %s and both "
                   "must have the same type",
                   tn_graph_input_port(node->entry->op, index)->name, inputs[index]->name,
                   tn_type_name(inputs[index]->type),
                   tn_graph_input_port(node->entry->op, first)->name, inputs[first]->name,
                   tn_type_name(inputs[first]->type));
}

static tn_status bind_input(const tn_graph_node *node, const tn_tensor *const *inputs,
                            uint32_t index, tn_type *types) {
    const tn_operator_entry *entry = node->entry;
    const tn_port_rule *rule = &entry->inputs[rule_index(entry->op->input_count, index)];
    const tn_port *port = tn_graph_input_port(entry->op, index);
    tn_type type = inputs[index]->type;
    if (!is_allowed(rule->types, type)) {
        char text[TYPES_TEXT_BYTES];
        return tn_fail(TN_ERROR_TYPE, "input '%s' (tensor '%s') is %s; %s is allowed", port->name,
                       inputs[index]->name, tn_type_name(type), print_types(rule->types, text));
    }
    const tn_type keys = tn_map_key_type(inputs[index]);
    if (rule->keys && inputs[index]->kind == rule->kind && keys != TN_NONE &&
        !is_allowed(rule->keys, keys)) {
        char text[TYPES_TEXT_BYTES];
        return tn_fail(TN_ERROR_TYPE, "input '%s' (tensor '%s') has keys of type %s; %s is allowed",
                       port->name, inputs[index]->name, tn_type_name(keys),
                       print_types(rule->keys, text));
    }
    if (rule->variable == TN_NO_VARIABLE || (port->flags & TN_PORT_HETEROGENEOUS)) return TN_OK;
    if (types[rule->variable] != TN_NONE && types[rule->variable] != type)
        return fail_conflict(node, inputs, index, rule->variable);
    types[rule->variable] = type;
    return TN_OK;
}

tn_status tn_infer_bind_inputs(const tn_graph_node *node, const tn_tensor *const *inputs,
                               tn_type *types) {
    memset(types, 0, node->entry->variable_count * sizeof(*types));
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i]) TN_TRY(bind_input(node, inputs, i, types));
    return TN_OK;
}

tn_type tn_infer_output_type(const tn_operator_entry *entry, uint32_t index, const tn_type *types) {
    const tn_port_rule *rule = &entry->outputs[rule_index(entry->op->output_count, index)];
    bool is_free = tn_graph_output_port(entry->op, index)->flags & TN_PORT_HETEROGENEOUS;
    if (rule->variable != TN_NO_VARIABLE && !is_free) return types[rule->variable];
    if (rule->types == 0 || (rule->types & (rule->types - 1)) != 0) return TN_NONE;
    for (tn_type type = TN_F64; type < TN_TYPE_COUNT; type++)
        if (rule->types == TN_TYPE_BIT(type)) return type;
    return TN_NONE;
}

tn_type tn_infer_key_type(const tn_operator_entry *entry, uint32_t index) {
    const tn_type_set keys = entry->outputs[rule_index(entry->op->output_count, index)].keys;
    return keys == TN_TYPE_BIT(TN_I64)      ? TN_I64
           : keys == TN_TYPE_BIT(TN_STRING) ? TN_STRING
                                            : TN_NONE;
}

tn_status tn_infer_check_keys(const tn_operator_entry *entry, uint32_t index,
                              const tn_tensor *output) {
    const tn_type_set keys = entry->outputs[rule_index(entry->op->output_count, index)].keys;
    char text[TYPES_TEXT_BYTES];
    if (!keys || is_allowed(keys, tn_map_key_type(output))) return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN,
                   "the shape rule gave output '%s' keys of the type %s; its port has %s",
                   tn_graph_output_port(entry->op, index)->name,
                   tn_type_name(tn_map_key_type(output)), print_types(keys, text));
}

tn_status tn_infer_check_output(const tn_operator_entry *entry, uint32_t index, tn_type type,
                                tn_type *types) {
    const tn_port_rule *rule = &entry->outputs[rule_index(entry->op->output_count, index)];
    const tn_port *port = tn_graph_output_port(entry->op, index);
    if (!is_allowed(rule->types, type)) {
        char text[TYPES_TEXT_BYTES];
        return tn_fail(TN_ERROR_PLUGIN,
                       "the shape rule gave output '%s' the type %s (%" PRIu32 "); its port has %s",
                       port->name, tn_type_name(type), type, print_types(rule->types, text));
    }
    if (rule->variable == TN_NO_VARIABLE || (port->flags & TN_PORT_HETEROGENEOUS)) return TN_OK;
    if (types[rule->variable] != TN_NONE && types[rule->variable] != type)
        return tn_fail(TN_ERROR_PLUGIN,
                       "the shape rule gave output '%s' the type %s, but its type variable is %s",
                       port->name, tn_type_name(type), tn_type_name(types[rule->variable]));
    types[rule->variable] = type;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * types without shapes */

void tn_infer_set_types(tn_inference *inference) {
    const tn_graph *graph = inference->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        tn_inferred_tensor *inferred = &inference->tensors[graph->inputs[i]];
        inferred->storage.tensor.type =
            inference->input_types ? inference->input_types[i] : tensor->type;
        inferred->storage.tensor.kind = tensor->kind;
        inferred->storage.tensor.reserved = tensor->key_type;
        inferred->is_known = inferred->is_described = false;
    }
}

/* The descriptors of those inputs whose types are known; false: not all are. */
static bool gather_types(const tn_inference *inference, const tn_graph_node *node) {
    bool is_typed = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor_id id = node->inputs[i];
        inference->scratch->inputs[i] = NULL;
        if (id == TN_NO_TENSOR) continue;
        if (inference->tensors[id].storage.tensor.type != TN_NONE)
            inference->scratch->inputs[i] = &inference->tensors[id].storage.tensor;
        else
            is_typed = false;
    }
    return is_typed;
}

/* Whether the rule reads an input of which nothing but the type is known; what bodies capture it
 * does not read. */
static bool reads_example(const tn_inference *inference, const tn_graph_node *node) {
    uint32_t field = 0, captured = 0;
    const tn_graph_body *body;
    while ((body = tn_graph_next_body(node, &field)) != NULL)
        captured += body->view.capture_count;
    for (uint32_t i = 0; i + captured < node->input_count; i++) {
        const tn_tensor_id id = node->inputs[i];
        if (id != TN_NO_TENSOR && !inference->tensors[id].is_known &&
            !inference->tensors[id].is_described)
            return true;
    }
    return false;
}

/* Descriptors of the inputs; those whose shapes are not known have an example of this rank. */
static void gather_examples(const tn_inference *inference, const tn_graph_node *node,
                            uint32_t rank) {
    static const int64_t ones[TN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    _Static_assert(TN_MAX_RANK == 8, "an extent of 1 for each axis");
    struct tn_inference_scratch *scratch = inference->scratch;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_inferred_tensor *inferred = &inference->tensors[node->inputs[i]];
        scratch->hidden[i] = inferred->storage.tensor;
        scratch->inputs[i] = &scratch->hidden[i];
        if (!inferred->is_described && !inferred->is_known) {
            scratch->hidden[i].rank = scratch->hidden[i].kind ? TN_RANK_UNKNOWN : rank;
            scratch->hidden[i].shape = (int64_t *)(uintptr_t)ones; /* not to be written */
            scratch->hidden[i].strides = (int64_t *)(uintptr_t)ones;
            scratch->hidden[i].bytes =
                scratch->hidden[i].kind ? 0 : (tn_type_bits(scratch->hidden[i].type) + 7) / 8;
            scratch->hidden[i].data = NULL;
        }
        const uint32_t flags = tn_graph_input_port(node->entry->op, i)->flags;
        if (inferred->is_described || flags & TN_PORT_VALUE_WANTED || tn_graph_needs_value(node, i))
            continue;
        scratch->hidden[i].data = NULL;
        scratch->hidden[i].heap = NULL;
    }
}

/* Keeps of the outputs what is sure: types that their ports allow. False: not all have one. */
static bool keep_types(tn_inference *inference, const tn_graph_node *node) {
    bool is_typed = true;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        tn_inferred_tensor *inferred = &inference->tensors[node->outputs[i]];
        const uint32_t rule = rule_index(node->entry->op->output_count, i);
        tn_tensor *tensor = &inferred->storage.tensor;
        inferred->is_known = inferred->is_described = false;
        if (!is_allowed(node->entry->outputs[rule].types, tensor->type)) tensor->type = TN_NONE;
        is_typed = is_typed && tensor->type != TN_NONE;
    }
    return is_typed;
}

/* A rule reads shapes while it finds types, and may refuse an example; what it wrote of types until
 * then counts where no example serves. */
static tn_status ask_types(tn_inference *inference, const tn_graph_node *node) {
    static const uint32_t ranks[] = {1, 2, 3, 4, 0, 5};
    const size_t count = reads_example(inference, node) ? sizeof ranks / sizeof *ranks : 1;
    tn_status status = TN_ERROR_SHAPE;
    for (size_t r = 0; r < count && status != TN_OK; r++) {
        gather_examples(inference, node, ranks[r]);
        TN_TRY(tn_infer_bind_inputs(node, inference->scratch->inputs, inference->scratch->types));
        tn_infer_lay_out(inference, node);
        status = tn_infer_call_rule(inference, node, true);
        if (status == TN_ERROR_MEMORY || status == TN_ERROR_TYPE) return status;
        if (keep_types(inference, node) && !tn_graph_node_has_bodies(node)) return TN_OK;
    }
    return status;
}

/* Whether there is something to ask a shape rule about. */
static bool has_shapes(const tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_inferred_tensor *input = &inference->tensors[node->inputs[i]];
        if (!input->is_known && !input->is_described) return false;
    }
    return true;
}

tn_status tn_infer_estimate(tn_inference *inference, uint32_t index) {
    const tn_graph_node *node = &inference->graph->nodes[index];
    tn_error_copy before;
    const bool is_typed = gather_types(inference, node);
    const struct tn_inference_scratch *scratch = inference->scratch;
    tn_status status = tn_infer_bind_inputs(node, scratch->inputs, scratch->types);
    if (status != TN_OK) return tn_infer_at_node(status, node);
    tn_infer_lay_out(inference, node);
    tn_error_save(&before);
    if (has_shapes(inference, node) && tn_inference_node(inference, index) == TN_OK) return TN_OK;
    const bool is_whole = keep_types(inference, node) && !tn_graph_node_has_bodies(node);
    status = is_typed && !is_whole ? ask_types(inference, node) : TN_OK;
    if (status == TN_ERROR_MEMORY || status == TN_ERROR_TYPE) return status;
    tn_error_restore(&before);
    return TN_OK;
}

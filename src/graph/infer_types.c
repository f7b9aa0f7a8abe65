/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of types: each port allows a set, and ports that share a type variable have one type.
 * The rules are the registry's reading of the operator's port table.
 */
#include "base/status.h"
#include "graph/infer_private.h"

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

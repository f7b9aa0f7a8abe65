/* SPDX-License-Identifier: Apache-2.0 */
/* Checking and copying of operators' tables; see registry_tables.h. Those of kernels are
 * kernel_tables.c. */
#include "plugin/registry/tables_private.h"
#include "base/status.h"
#include "expression/elementwise.h"
#include "plugin/fields/elementwise_tables.h"
#include "plugin/loaded_library.h"
#include "plugin/sequences/kinds.h"

#include <string.h>

/* No honest table is near these; a damaged one is refused before it is read. */
#define MOST_PORTS     256
#define MOST_CASES     100000
#define MOST_VARIABLES 16

const char *tn_table_copy_text(tn_arena *arena, const char *text, bool *failed) {
    if (!text) return NULL;
    const char *copy = tn_arena_keep_text(arena, text);
    *failed |= !copy;
    return copy;
}

void *tn_table_restride(tn_arena *arena, const void *items, uint32_t count, uint32_t item_bytes,
                        size_t own_bytes) {
    char *copies = tn_arena_allocate(arena, count, own_bytes);
    for (uint32_t i = 0; copies && i < count; i++)
        memcpy(copies + i * own_bytes, (const char *)items + (size_t)i * item_bytes,
               item_bytes < own_bytes ? item_bytes : own_bytes);
    return copies;
}

const char **tn_table_copy_texts(tn_arena *arena, const char *const *texts, uint64_t count,
                                 bool *failed) {
    const char **copies = tn_arena_allocate(arena, (size_t)count, sizeof(*copies));
    *failed |= !copies;
    for (uint64_t i = 0; copies && i < count; i++)
        copies[i] = tn_table_copy_text(arena, texts[i] ? texts[i] : "", failed);
    return copies;
}

/* ----------------------------------------------------------------------------------------------
 * ports */

typedef struct variables {
    const char *names[MOST_VARIABLES];
    size_t lengths[MOST_VARIABLES];
    tn_type_set types[MOST_VARIABLES]; /* 0: not declared yet */
    uint32_t count;
    uint32_t minor; /* of the ABI that the library knows */
} variables;

static uint32_t find_variable(variables *all, const char *name, size_t length) {
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->lengths[i] == length && memcmp(all->names[i], name, length) == 0) return i;
    }
    if (all->count == MOST_VARIABLES) return TN_NO_VARIABLE;
    all->names[all->count] = name;
    all->lengths[all->count] = length;
    return all->count++;
}

/* Of a map. */
static tn_status read_keys(const tn_port *port, uint32_t kind, tn_type_set *out_keys) {
    const tn_type_set allowed = TN_TYPE_BIT(TN_I64) | TN_TYPE_BIT(TN_STRING);
    const char *text = NULL;
    size_t length = 0;
    if (!tn_kind_is_map(kind)) return TN_OK;
    if (tn_port_keys(port->types, &text, &length)) *out_keys = tn_type_set_parse(text, length, 0);
    if (*out_keys && !(*out_keys & ~allowed)) return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN, "port '%s': \"%s\" has no keys: expected i64, string or both",
                   port->name, port->types);
}

static tn_status read_rule(variables *all, const tn_port *port, tn_port_rule *out_rule) {
    if (!port->name || !port->name[0] || !port->types)
        return tn_fail(TN_ERROR_PLUGIN, "a port has no name or no types");
    const char *begin = NULL;
    size_t whole = 0;
    const uint32_t kind = tn_port_kind(port->types, &begin, &whole);
    const char *colon = memchr(begin, ':', whole);
    const char *text = colon ? colon + 1 : begin;
    *out_rule = (tn_port_rule){tn_type_set_parse(text, whole - (size_t)(text - begin), all->minor),
                               TN_NO_VARIABLE, kind, 0};
    TN_TRY(read_keys(port, kind, &out_rule->keys));
    if (out_rule->types && !colon) return TN_OK;
    const size_t length = colon ? (size_t)(colon - begin) : whole;
    if ((colon && !out_rule->types) || length == 0 || memchr(begin, '(', length))
        return tn_fail(TN_ERROR_PLUGIN, "port '%s': \"%s\" is not a list of types", port->name,
                       port->types);
    out_rule->variable = find_variable(all, begin, length);
    if (out_rule->variable == TN_NO_VARIABLE)
        return tn_fail(TN_ERROR_PLUGIN, "port '%s': more than %d type variables", port->name,
                       MOST_VARIABLES);
    if (colon) all->types[out_rule->variable] |= out_rule->types;
    return TN_OK;
}

static tn_status read_rules(tn_arena *arena, variables *all, const tn_port *ports, uint32_t count,
                            const tn_port_rule **out_rules) {
    tn_port_rule *rules = tn_arena_allocate(arena, count, sizeof(*rules));
    if (!rules) return tn_fail_memory("an operator's ports");
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(read_rule(all, &ports[i], &rules[i]));
        if ((ports[i].flags & TN_PORT_VARIADIC) && i + 1 != count)
            return tn_fail(TN_ERROR_PLUGIN, "port '%s' is variadic but not the last one",
                           ports[i].name);
    }
    *out_rules = rules;
    return TN_OK;
}

/* Fills in the types of ports that only name their variable. */
static tn_status resolve_rules(const variables *all, const tn_port *ports, uint32_t count,
                               const tn_port_rule *rules) {
    for (uint32_t i = 0; i < count; i++) {
        tn_port_rule *rule = (tn_port_rule *)(uintptr_t)&rules[i];
        if (rule->variable == TN_NO_VARIABLE) continue;
        if (!all->types[rule->variable])
            return tn_fail(TN_ERROR_PLUGIN,
                           "port '%s': \"%s\" is neither a type nor a declared type variable",
                           ports[i].name, ports[i].types);
        if (!rule->types) rule->types = all->types[rule->variable];
    }
    return TN_OK;
}

/* Of an output that has the memory of an input. */
static tn_status check_sharing(const tn_port *port, uint32_t input_count, const tn_port *inputs) {
    const uint32_t shared = port->flags & (TN_PORT_VIEW | TN_PORT_ALIAS);
    const char *name = port->name ? port->name : "";
    if (!shared) return TN_OK;
    if (port->alias == 0 || port->alias > input_count)
        return tn_fail(TN_ERROR_PLUGIN,
                       "output '%s' shares the memory of input %u, which is not there", name,
                       port->alias);
    if (shared == (TN_PORT_VIEW | TN_PORT_ALIAS))
        return tn_fail(
            TN_ERROR_PLUGIN,
            "output '%s' has TN_PORT_VIEW and TN_PORT_ALIAS: expected one of them, since "
            "a view is not written",
            name);
    if (shared == TN_PORT_ALIAS &&
        inputs[port->alias - 1].flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED))
        return tn_fail(TN_ERROR_PLUGIN,
                       "output '%s' updates input %u, of which only the shape is read, or whose "
                       "value decides shapes",
                       name, port->alias);
    return TN_OK;
}

static tn_status copy_ports(tn_arena *arena, tn_operator *op, uint32_t minor,
                            tn_operator_entry *entry) {
    variables all = {.count = 0, .minor = minor};
    bool failed = false;
    if (op->input_count > MOST_PORTS || op->output_count > MOST_PORTS ||
        (op->input_count && !op->inputs) || (op->output_count && !op->outputs) ||
        op->output_count == 0)
        return tn_fail(TN_ERROR_PLUGIN,
                       "%u inputs and %u outputs: expected at most %d of each, at least one "
                       "output, and their tables",
                       op->input_count, op->output_count, MOST_PORTS);
    if (op->port_size < offsetof(tn_port, flags) + sizeof(uint32_t) ||
        op->port_size > TN_TABLE_MOST_BYTES || op->port_size % 8)
        return tn_fail(TN_ERROR_PLUGIN, "ports of %u bytes each", op->port_size);
    tn_port *inputs =
        tn_table_restride(arena, op->inputs, op->input_count, op->port_size, sizeof(tn_port));
    tn_port *outputs =
        tn_table_restride(arena, op->outputs, op->output_count, op->port_size, sizeof(tn_port));
    if (!inputs || !outputs) return tn_fail_memory("an operator's ports");
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++) {
        tn_port *port = i < op->input_count ? &inputs[i] : &outputs[i - op->input_count];
        port->name = tn_table_copy_text(arena, port->name, &failed);
        port->types = tn_table_copy_text(arena, port->types, &failed);
        port->doc = tn_table_copy_text(arena, port->doc, &failed);
        if (port->reserved != 0)
            return tn_fail(TN_ERROR_PLUGIN, "port '%s': its member 'reserved' is %u: expected 0",
                           port->name ? port->name : "", port->reserved);
        if (i >= op->input_count) TN_TRY(check_sharing(port, op->input_count, inputs));
    }
    if (failed) return tn_fail_memory("an operator's ports");
    op->inputs = inputs;
    op->outputs = outputs;
    op->port_size = sizeof(tn_port);
    TN_TRY(read_rules(arena, &all, inputs, op->input_count, &entry->inputs));
    TN_TRY(read_rules(arena, &all, outputs, op->output_count, &entry->outputs));
    TN_TRY(resolve_rules(&all, inputs, op->input_count, entry->inputs));
    TN_TRY(resolve_rules(&all, outputs, op->output_count, entry->outputs));
    TN_TRY(tn_operator_check_kinds(op));
    entry->variable_count = all.count;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * operators */

tn_status tn_table_copy_fields(tn_arena *arena, tn_operator *op) {
    bool failed = false;
    if (op->field_count > 64 || (op->field_count && !op->fields))
        return tn_fail(TN_ERROR_PLUGIN, "%u fields: expected at most 64, and their table",
                       op->field_count);
    if (op->field_count && (op->field_size < offsetof(tn_field, minimum_count) ||
                            op->field_size > TN_TABLE_MOST_BYTES || op->field_size % 8))
        return tn_fail(TN_ERROR_PLUGIN, "fields of %u bytes each", op->field_size);
    tn_field *fields =
        tn_table_restride(arena, op->fields, op->field_count, op->field_size, sizeof(tn_field));
    if (!fields) return tn_fail_memory("an operator's fields");
    for (uint32_t i = 0; i < op->field_count; i++) {
        fields[i].name = tn_table_copy_text(arena, fields[i].name, &failed);
        fields[i].doc = tn_table_copy_text(arena, fields[i].doc, &failed);
        fields[i].fallback = tn_table_copy_text(arena, fields[i].fallback, &failed);
        fields[i].choices = tn_table_copy_text(arena, fields[i].choices, &failed);
    }
    if (failed) return tn_fail_memory("an operator's fields");
    op->fields = fields;
    op->field_size = sizeof(tn_field);
    return tn_fields_check_table(op);
}

/* What bodies capture are the node's last inputs, of any type; their fields are all that there is
 * to say of a node with one. */
static tn_status check_bodies(const tn_operator *op) {
    const char *field = NULL;
    const uint32_t needed = TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS;
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].type == TN_FIELD_GRAPH) field = op->fields[i].name;
    if (!field) return TN_OK;
    if (op->input_count == 0 || (op->inputs[op->input_count - 1].flags & needed) != needed)
        return tn_fail(TN_ERROR_PLUGIN,
                       "field '%s' is a graph: the last input port is to be VARIADIC and "
                       "HETEROGENEOUS, for what the graph captures",
                       field);
    if (op->load || op->destroy_params)
        return tn_fail(TN_ERROR_PLUGIN,
                       "field '%s' is a graph: an operator with one has no load and no "
                       "destroy_params",
                       field);
    return TN_OK;
}

static tn_status fill_cases(tn_arena *arena, const tn_operator_entry *entry, tn_operator *op) {
    tn_elementwise_port inputs[TN_ELEMENTWISE_MOST_INPUTS];
    if (!tn_elementwise_needs_cases(op)) return TN_OK;
    for (uint32_t i = 0; i < op->input_count; i++)
        inputs[i] = (tn_elementwise_port){entry->inputs[i].types, entry->inputs[i].variable};
    return tn_elementwise_fill_cases(arena, inputs, op);
}

/* Expressions and rows compute numbers, so that strings need a reference of the operator's own. */
static tn_status check_strings(const tn_operator *op, const tn_operator_entry *entry) {
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++) {
        const bool is_input = i < op->input_count;
        const uint32_t at = is_input ? i : i - op->input_count;
        const tn_type_set types = is_input ? entry->inputs[at].types : entry->outputs[at].types;
        const tn_port *port = is_input ? &op->inputs[at] : &op->outputs[at];
        if (!(types & TN_TYPE_BIT(TN_STRING))) continue;
        if ((op->expression || op->row) && op->reference == tn_elementwise_reference)
            return tn_fail(TN_ERROR_PLUGIN,
                           "port '%s' has strings, and the operator has %s: expected numbers",
                           port->name, op->expression ? "an expression" : "a row function");
    }
    return TN_OK;
}

static tn_status copy_operator(tn_arena *arena, tn_operator *op, uint32_t minor,
                               tn_operator_entry *entry) {
    bool failed = false;
    TN_TRY(tn_elementwise_fill(arena, op));
    if (op->since_version == 0)
        return tn_fail(TN_ERROR_PLUGIN, "since_version is 0: versions begin with 1");
    if (!op->infer)
        return tn_fail(TN_ERROR_PLUGIN, op->expression
                                            ? "there is no shape rule (infer): expected it, or "
                                              "TN_OPERATOR_ELEMENTWISE beside the expression"
                                            : "there is no shape rule (infer)");
    if (!op->save != !op->load)
        return tn_fail(TN_ERROR_PLUGIN, "save and load come together or not at all");
    if (op->state_version == 0) op->state_version = 1;
    if (op->case_count > MOST_CASES || (op->case_count && !op->cases))
        return tn_fail(TN_ERROR_PLUGIN, "%llu cases", (unsigned long long)op->case_count);
    op->variant = tn_table_copy_text(arena, op->variant, &failed);
    op->doc = tn_table_copy_text(arena, op->doc, &failed);
    op->expression = tn_table_copy_text(arena, op->expression, &failed);
    op->cases = tn_table_copy_texts(arena, op->cases, op->case_count, &failed);
    if (failed) return tn_fail_memory("an operator");
    TN_TRY(copy_ports(arena, op, minor, entry));
    TN_TRY(tn_table_copy_fields(arena, op));
    TN_TRY(check_bodies(op));
    TN_TRY(check_strings(op, entry));
    return fill_cases(arena, entry, op);
}

tn_status tn_registry_copy_operator(tn_loaded_library *library, const tn_operator *op,
                                    tn_operator_entry **out_entry) {
    tn_arena *arena = tn_library_arena(library);
    bool failed = false;
    if (!op || op->size < offsetof(tn_operator, infer) + sizeof(op->infer) ||
        op->size > TN_TABLE_MOST_BYTES)
        return tn_fail(TN_ERROR_PLUGIN,
                       op ? "an operator's table says it has %u bytes"
                          : "an operator's table is null",
                       op ? op->size : 0);
    tn_operator *copy = tn_arena_allocate(arena, 1, sizeof(*copy));
    tn_operator_entry *entry = tn_arena_allocate(arena, 1, sizeof(*entry));
    if (!copy || !entry) return tn_fail_memory("an operator");
    memcpy(copy, op, op->size < sizeof(*copy) ? op->size : sizeof(*copy));
    copy->size = sizeof(*copy);
    if (!copy->name || !copy->name[0]) return tn_fail(TN_ERROR_PLUGIN, "an operator has no name");
    copy->name = tn_table_copy_text(arena, copy->name, &failed);
    copy->domain = tn_table_copy_text(arena, copy->domain ? copy->domain : "", &failed);
    if (failed) return tn_fail_memory("an operator");
    const tn_status status = copy_operator(arena, copy, tn_library_minor(library), entry);
    if (status != TN_OK) return tn_error_in(status, .domain = copy->domain, .op = copy->name);
    entry->op = copy;
    entry->library = library;
    entry->own_domain = copy->domain;
    *out_entry = entry;
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes and constants of a replacement: see replace.h. */
#include "base/status.h"
#include "builder/rewrite/replace.h"
#include "plugin/library.h"

#include <string.h>

static tn_status emit_node(tn_emitter *e, const tn_term *term, const tn_statement *statement,
                           tn_tensor_id *out_first);

/* ----------------------------------------------------------------------------------------------
 * constants */

static tn_status add_constant(tn_emitter *e, tn_type type, uint32_t rank, const int64_t *extents,
                              const void *data, tn_tensor_id *out_tensor) {
    tn_shape shape;
    size_t count = 0, bytes = 0;
    TN_TRY(tn_shape_set(&shape, rank, extents));
    TN_TRY(tn_shape_count(&shape, &count));
    bytes = tn_type_storage(type, count);
    void *copy = tn_graph_allocate_data(e->graph, bytes);
    const char *name = tn_graph_make_name(e->graph, e->name);
    if (!copy || !name) return tn_fail_memory("a rewrite's constant");
    if (bytes > 0) memcpy(copy, data, bytes);
    return tn_graph_add_constant_lent(e->graph, name, type, &shape, copy, bytes, out_tensor);
}

/* Numbers as a constant: a scalar, or a vector. */
static tn_status add_numbers(tn_emitter *e, tn_type type, bool is_list, uint64_t count,
                             const double *numbers, tn_tensor_id *out_tensor) {
    const int64_t extent = (int64_t)count;
    char *data = tn_arena_allocate(e->arena, (size_t)count + 1, 8);
    if (!data || tn_type_bytes(type) == 0) return tn_fail_memory("a rewrite's constant");
    for (uint64_t i = 0; i < count; i++)
        tn_element_set_f64(data, type, i, numbers[i]);
    return add_constant(e, type, is_list, &extent, data, out_tensor);
}

/* What the guard computed, or a field held, as an input. */
static tn_status add_value(tn_emitter *e, const tn_attribute *value, tn_tensor_id *out_tensor) {
    const int64_t extent = (int64_t)value->count;
    switch (value->type) {
    case TN_FIELD_TENSOR:
        return add_constant(e, value->tensor->type, value->tensor->rank, value->tensor->shape,
                            value->tensor->data, out_tensor);
    case TN_FIELD_I64:
        return add_constant(e, TN_I64, 0, NULL, &value->i, out_tensor);
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        return add_numbers(e, e->number_type, false, 1, &value->f, out_tensor);
    case TN_FIELD_I64S:
        return add_constant(e, TN_I64, 1, &extent, value->items, out_tensor);
    case TN_FIELD_F32S:
        return add_constant(e, TN_F32, 1, &extent, value->items, out_tensor);
    case TN_FIELD_F64S:
        return add_numbers(e, e->number_type, true, value->count, value->items, out_tensor);
    default:
        return tn_fail(TN_ERROR_PLUGIN, "a text cannot be an input of the replacement");
    }
}

/* A name; in a pattern it may stand before the statement that makes it. */
static tn_status emit_name(tn_emitter *e, uint32_t name, tn_tensor_id *out_tensor) {
    const bool is_made = e->matcher->pattern->names[name].statement != TN_NO_STATEMENT;
    if (e->is_pattern && is_made && e->tensors[name] == TN_NO_TENSOR)
        TN_TRY(tn_graph_add_tensor(e->graph, NULL, TN_NONE, &e->tensors[name]));
    *out_tensor = e->tensors[name];
    return TN_OK;
}

/* The alternative that the form has here. */
static const tn_term *choose_term(tn_emitter *e, const tn_term *term) {
    while (term->kind == TN_TERM_CHOICE) {
        const tn_term *chosen = term->arguments[e->form % term->argument_count];
        e->form /= term->argument_count;
        term = chosen;
    }
    return term;
}

/* Of a port beyond the operator's: any type. */
static tn_type_set types_of(const tn_operator_entry *entry, uint32_t input) {
    return input < entry->op->input_count ? entry->inputs[input].types : ~(tn_type_set)0;
}

/* A captured number, in a pattern with the type of its other numbers where the port takes that. */
static tn_status emit_captured(tn_emitter *e, const tn_attribute *value, tn_type_set types,
                               tn_tensor_id *out_tensor) {
    const double number = (double)value->i;
    return e->is_pattern && value->type == TN_FIELD_I64 && types & TN_TYPE_BIT(e->number_type)
               ? add_numbers(e, e->number_type, false, 1, &number, out_tensor)
               : add_value(e, value, out_tensor);
}

static tn_status emit_input(tn_emitter *e, const tn_term *given, tn_type_set types,
                            tn_tensor_id *out_tensor) {
    const tn_term *term = choose_term(e, given);
    const tn_match_binding *binding = &e->matcher->bindings[term->name];
    *out_tensor = TN_NO_TENSOR;
    switch (term->kind) {
    case TN_TERM_TENSOR:
        return emit_name(e, term->name, out_tensor);
    case TN_TERM_CAPTURE:
    case TN_TERM_COMPUTED:
        *out_tensor = e->captured[term->name];
        if (*out_tensor != TN_NO_TENSOR || !binding->value) return TN_OK;
        return emit_captured(e, binding->value, types, out_tensor);
    case TN_TERM_NUMBERS:
        return add_numbers(e, term->is_list && term->are_integers ? TN_I64 : e->number_type,
                           term->is_list, term->number_count, term->numbers, out_tensor);
    case TN_TERM_NODE:
        return emit_node(e, term, NULL, out_tensor);
    case TN_TERM_ANY:
        *out_tensor = e->any;
        return TN_OK;
    default:
        return TN_OK;
    }
}

/* ----------------------------------------------------------------------------------------------
 * fields */

static const tn_field *field_of(const tn_operator *op, const char *name) {
    for (uint32_t i = 0; i < op->field_count; i++)
        if (strcmp(op->fields[i].name, name) == 0) return &op->fields[i];
    return NULL;
}

static tn_status set_literal(tn_emitter *e, const tn_term *term, tn_attribute *out) {
    out->type = TN_FIELD_STRING;
    out->s = term->word;
    if (term->kind == TN_TERM_WORD) return TN_OK;
    out->s = NULL;
    out->type = term->are_integers ? TN_FIELD_I64 : TN_FIELD_F64;
    out->f = term->number_count ? term->numbers[0] : 0;
    out->i = term->are_integers ? (int64_t)out->f : 0;
    if (!term->is_list) return TN_OK;
    int64_t *integers = tn_arena_allocate(e->arena, term->number_count + 1u, sizeof *integers);
    if (!integers) return tn_fail_memory("a rewrite");
    for (uint32_t i = 0; term->are_integers && i < term->number_count; i++)
        integers[i] = (int64_t)term->numbers[i];
    out->type = term->are_integers ? TN_FIELD_I64S : TN_FIELD_F64S;
    out->count = term->number_count;
    out->items = term->are_integers ? (const void *)integers : term->numbers;
    return TN_OK;
}

/* A list of one number serves where the field is a number. */
static void unlist(const tn_field *field, tn_attribute *value) {
    const bool is_list_field = field && field->type >= TN_FIELD_I64S;
    if (is_list_field || value->count != 1) return;
    if (value->type == TN_FIELD_I64S) {
        value->i = *(const int64_t *)value->items;
        value->type = TN_FIELD_I64;
    } else if (value->type == TN_FIELD_F64S || value->type == TN_FIELD_F32S) {
        value->f = value->type == TN_FIELD_F64S ? *(const double *)value->items
                                                : (double)*(const float *)value->items;
        value->type = TN_FIELD_F64;
    }
}

static tn_status emit_fields(tn_emitter *e, const tn_operator *op, const tn_term *term,
                             uint64_t *out_count, const tn_attribute ***out_attributes) {
    const tn_attribute **pointers =
        tn_arena_allocate(e->arena, term->field_count + 1u, sizeof *pointers);
    tn_attribute *values = tn_arena_allocate(e->arena, term->field_count + 1u, sizeof *values);
    if (!pointers || !values) return tn_fail_memory("a rewrite");
    for (uint32_t i = 0; i < term->field_count; i++) {
        const tn_term *from = term->fields[i].value;
        const bool is_literal = from->kind == TN_TERM_NUMBERS || from->kind == TN_TERM_WORD;
        tn_attribute *value = &values[*out_count];
        value->size = sizeof *value;
        if (is_literal)
            TN_TRY(set_literal(e, from, value));
        else if (e->matcher->bindings[from->name].value)
            *value = *e->matcher->bindings[from->name].value;
        else
            continue; /* not bound: the default */
        value->name = term->fields[i].name;
        unlist(field_of(op, value->name), value);
        pointers[(*out_count)++] = value;
    }
    *out_attributes = pointers;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

static tn_status emit_results(tn_emitter *e, const tn_operator *op, const tn_statement *statement,
                              tn_tensor_id *outputs, uint32_t *out_count) {
    const uint32_t named = statement ? statement->result_count : 1;
    *out_count = named > op->output_count ? named : op->output_count;
    if (*out_count > TN_PATTERN_RESULTS)
        return tn_fail(TN_ERROR_UNSUPPORTED, "an operator of more than 8 results");
    for (uint32_t i = 0; i < *out_count; i++) {
        const uint32_t name = statement && i < named ? statement->results[i] : TN_NO_NAME;
        const bool is_needed = name != TN_NO_NAME || (i == 0 && !statement) ||
                               (i < op->output_count &&
                                !(op->outputs[i].flags & (TN_PORT_OPTIONAL | TN_PORT_VARIADIC)));
        outputs[i] = name == TN_NO_NAME ? TN_NO_TENSOR : e->tensors[name];
        if (outputs[i] != TN_NO_TENSOR || !is_needed) continue;
        TN_TRY(tn_graph_add_tensor(e->graph, NULL, TN_NONE, &outputs[i]));
        if (name != TN_NO_NAME) e->tensors[name] = outputs[i];
    }
    while (*out_count > 0 && outputs[*out_count - 1] == TN_NO_TENSOR)
        --*out_count;
    return TN_OK;
}

static tn_status emit_with(tn_emitter *e, const tn_operator_entry *entry, const tn_term *term,
                           const tn_statement *statement, tn_tensor_id *out_first) {
    tn_tensor_id inputs[TN_PATTERN_ARGUMENTS], outputs[TN_PATTERN_RESULTS];
    const tn_attribute **attributes = NULL;
    uint64_t attribute_count = 0;
    uint32_t input_count = term->argument_count, output_count = 0;
    for (uint32_t i = 0; i < input_count; i++)
        TN_TRY(emit_input(e, term->arguments[i], types_of(entry, i), &inputs[i]));
    while (input_count > 0 && inputs[input_count - 1] == TN_NO_TENSOR)
        input_count--;
    TN_TRY(emit_fields(e, entry->op, term, &attribute_count, &attributes));
    TN_TRY(emit_results(e, entry->op, statement, outputs, &output_count));
    if (e->node_count == TN_PATTERN_NODES) return tn_fail(TN_ERROR_UNSUPPORTED, "too many nodes");
    TN_TRY(tn_graph_add_node_raw(e->graph, e->name, entry, attribute_count, attributes, input_count,
                                 inputs, output_count, outputs, &e->nodes[e->node_count]));
    tn_library_retain(entry->library); /* the node's count; the caller's is given back */
    *out_first = output_count > 0 ? outputs[0] : TN_NO_TENSOR;
    tn_graph_node *node = &e->graph->nodes[e->nodes[e->node_count++]];
    const tn_status status = tn_graph_check_node(e->graph, node);
    node->is_dead = status != TN_OK;
    node->rewrite = e->by;
    return status;
}

/* In a pattern the newest version that has such fields and inputs. */
static bool is_older_tried(tn_emitter *e, const tn_operator *op, const tn_term *term,
                           tn_status status, uint32_t *out_version) {
    if (!e->is_pattern || status == TN_OK || status == TN_ERROR_MEMORY) return false;
    if (!e->has_error) tn_error_save(&e->first_error);
    e->has_error = true;
    *out_version = op->since_version - 1;
    return *out_version >= term->lowest && *out_version > 0;
}

static tn_status emit_node(tn_emitter *e, const tn_term *given, const tn_statement *statement,
                           tn_tensor_id *out_first) {
    const tn_term *term = choose_term(e, given);
    const tn_rewrite_entry *rewrite = e->matcher->entry;
    uint32_t version = e->is_pattern ? term->highest : term->lowest;
    for (;;) {
        const tn_operator_entry *entry = NULL;
        const uint32_t form = e->form, before = e->node_count;
        TN_TRY(tn_registry_find_operator_of(
            tn_runtime_registry(e->graph->runtime), rewrite->library,
            term->domain ? term->domain : rewrite->rewrite->domain, term->op, version, &entry));
        const tn_status status = emit_with(e, entry, term, statement, out_first);
        const bool is_again = is_older_tried(e, entry->op, term, status, &version);
        tn_library_release(entry->library);
        if (!is_again) return status;
        /* the arguments are made again */
        while (e->node_count > before)
            e->graph->nodes[e->nodes[--e->node_count]].is_dead = true;
        e->form = form;
    }
}

tn_status tn_emitter_run(tn_emitter *e) {
    const tn_pattern *pattern = e->matcher->pattern;
    tn_status status = TN_OK;
    const uint32_t count = e->is_pattern ? pattern->statement_count : pattern->replacement_count;
    for (uint32_t s = 0; s < count; s++) {
        const tn_statement *statement =
            e->is_pattern ? &pattern->statements[s] : &pattern->replacements[s];
        tn_tensor_id first;
        if (status == TN_OK) status = emit_node(e, statement->term, statement, &first);
    }
    if (status != TN_OK && e->has_error) tn_error_restore(&e->first_error);
    return status;
}

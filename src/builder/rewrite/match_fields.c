/* SPDX-License-Identifier: Apache-2.0 */
/* A node's fields against those of a pattern: see match.h. */
#include "base/status.h"
#include "builder/rewrite/match.h"
#include "plugin/fields/fields_private.h"

#include <string.h>

static uint32_t find_field(const tn_operator *op, const char *name) {
    uint32_t index = 0;
    while (index < op->field_count && strcmp(tn_fields_at(op, index)->name, name) != 0)
        index++;
    return index;
}

static const tn_attribute *read(tn_matcher *m, const tn_operator *op, const void *params,
                                uint32_t index) {
    tn_attribute *value = tn_arena_allocate(m->arena, 1, sizeof *value);
    const tn_status status = value ? tn_field_read(m->arena, tn_fields_at(op, index), params, value)
                                   : tn_fail_memory("a rewrite");
    if (status == TN_OK) return value;
    if (status == TN_ERROR_MEMORY) m->status = status;
    return NULL;
}

/* The value that the text has, as an attribute. */
static tn_attribute value_of(const tn_term *term) {
    tn_attribute value = {.size = sizeof value, .name = ""};
    if (term->kind == TN_TERM_WORD) {
        value.type = TN_FIELD_STRING;
        value.s = term->word;
    } else if (term->is_list) {
        value.type = TN_FIELD_F64S;
        value.count = term->number_count;
        value.items = term->numbers;
    } else {
        value.type = TN_FIELD_F64;
        value.f = term->numbers[0];
    }
    return value;
}

/* A field that the node was not given, and that has no default. */
static bool is_absent(const tn_operator *op, const void *params, uint32_t index) {
    uint64_t present = 0;
    memcpy(&present, params, sizeof present);
    return !tn_fields_at(op, index)->fallback && !(present >> index & 1);
}

static bool match_field(tn_matcher *m, const tn_term_field *field, const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    const uint32_t index = find_field(op, field->name);
    if (index == op->field_count) return false;
    if (field->value->kind == TN_TERM_CAPTURE && is_absent(op, node->params, index))
        return !m->bindings[field->value->name].is_bound;
    const tn_attribute *value = read(m, op, node->params, index);
    if (!value) return false;
    if (field->value->kind == TN_TERM_CAPTURE)
        return tn_matcher_bind_value(m, field->value->name, TN_NO_TENSOR, value);
    const tn_attribute wanted = value_of(field->value);
    if (wanted.type == TN_FIELD_F64S && wanted.count == 0)
        return value->count == 0 && !value->s && value->type >= TN_FIELD_I64S;
    return tn_attribute_is_near(value, &wanted);
}

/* Fields that the text does not name have their defaults. */
static bool others_are_default(tn_matcher *m, const tn_term *term, const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    uint64_t present = 0;
    void *defaults = NULL;
    if (op->field_count > 0) memcpy(&present, node->params, sizeof present);
    for (uint32_t i = 0; i < term->field_count; i++) {
        const uint32_t named = find_field(op, term->fields[i].name);
        if (named < op->field_count) present &= ~(UINT64_C(1) << named);
    }
    if (present == 0) return true;
    if (tn_fields_parse(m->arena, op, 0, NULL, &defaults) != TN_OK) {
        tn_error_clear();
        return false; /* one is required: it has no default */
    }
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (!(present >> i & 1)) continue;
        const tn_attribute *value = read(m, op, node->params, i);
        const tn_attribute *fallback = read(m, op, defaults, i);
        if (!value || !fallback || !tn_attribute_is_near(value, fallback)) return false;
    }
    return true;
}

bool tn_matcher_fields(tn_matcher *m, const tn_term *term, const tn_graph_node *node) {
    for (uint32_t i = 0; i < term->field_count; i++)
        if (!match_field(m, &term->fields[i], node)) return false;
    return term->has_other_fields || others_are_default(m, term, node);
}

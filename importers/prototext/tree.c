/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in the tree of a description. */
#include "importers/prototext/tree.h"

#include "base/status.h"
#include "importers/prototext/lexer.h"

#include <stdio.h>
#include <string.h>

tn_status tn_prototext_message_create(tn_arena *arena, tn_prototext_message **out_message) {
    *out_message = tn_arena_allocate(arena, 1, sizeof(**out_message));
    return *out_message ? TN_OK : tn_fail_memory("a network's description");
}

tn_status tn_prototext_message_add(tn_arena *arena, tn_prototext_message *message, const char *name,
                                   uint32_t line, uint32_t column, size_t *count,
                                   tn_prototext_field **out_field) {
    if (++*count > TN_PROTOTEXT_FIELDS)
        return tn_prototext_fail_at(line, column, "the network has more than %u values",
                                    TN_PROTOTEXT_FIELDS);
    tn_prototext_field *field = tn_arena_allocate(arena, 1, sizeof(*field));
    if (!field) return tn_fail_memory("a network's description");
    field->name = name;
    field->line = line;
    field->column = column;
    if (message->last)
        message->last->next = field;
    else
        message->first = field;
    message->last = field;
    *out_field = field;
    return TN_OK;
}

tn_status tn_prototext_field_open(tn_arena *arena, tn_prototext_field *field) {
    field->kind = TN_PROTOTEXT_MESSAGE;
    return tn_prototext_message_create(arena, &field->message);
}

const tn_prototext_field *tn_prototext_message_next(const tn_prototext_message *message,
                                                    const char *name,
                                                    const tn_prototext_field *after) {
    const tn_prototext_field *field = after ? after->next : message ? message->first : NULL;
    while (field && strcmp(field->name, name) != 0)
        field = field->next;
    return field;
}

static const tn_prototext_field *find(const tn_prototext_message *message, const char *name) {
    return tn_prototext_message_next(message, name, NULL);
}

bool tn_prototext_has(const tn_prototext_message *message, const char *name) {
    return find(message, name) != NULL;
}

int64_t tn_prototext_integer(const tn_prototext_message *message, const char *name,
                             int64_t fallback) {
    const tn_prototext_field *field = find(message, name);
    return field ? field->integer : fallback;
}

bool tn_prototext_field_number(const tn_prototext_field *field, double *out_value) {
    if (field->kind == TN_PROTOTEXT_WORD)
        return tn_prototext_special_number(field->text, out_value);
    *out_value = field->number;
    return field->kind == TN_PROTOTEXT_NUMBER;
}

double tn_prototext_number(const tn_prototext_message *message, const char *name, double fallback) {
    const tn_prototext_field *field = find(message, name);
    double value = fallback;
    if (field && !tn_prototext_field_number(field, &value)) return fallback;
    return value;
}

bool tn_prototext_bool(const tn_prototext_message *message, const char *name, bool fallback) {
    const tn_prototext_field *field = find(message, name);
    if (!field) return fallback;
    return field->kind == TN_PROTOTEXT_WORD ? field->text[0] == 't' || field->text[0] == 'T'
                                            : field->integer != 0;
}

const char *tn_prototext_text(const tn_prototext_message *message, const char *name,
                              const char *fallback) {
    const tn_prototext_field *field = find(message, name);
    return field && field->text ? field->text : fallback;
}

const tn_prototext_message *tn_prototext_child(const tn_prototext_message *message,
                                               const char *name) {
    const tn_prototext_field *field = find(message, name);
    return field ? field->message : NULL;
}

size_t tn_prototext_count(const tn_prototext_message *message, const char *name) {
    size_t count = 0;
    for (const tn_prototext_field *field = find(message, name); field;
         field = tn_prototext_message_next(message, name, field))
        count++;
    return count;
}

size_t tn_prototext_integers(const tn_prototext_message *message, const char *name, size_t capacity,
                             int64_t *out_values) {
    size_t count = 0;
    for (const tn_prototext_field *field = find(message, name); field;
         field = tn_prototext_message_next(message, name, field), count++)
        if (count < capacity) out_values[count] = field->integer;
    return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in the tree of a description. */
#include "importers/prototext/tree.h"

#include "base/status.h"
#include "importers/prototext/lexer.h"

#include <stdio.h>
#include <string.h>

void tn_prototext_message_append(tn_prototext_message *message, tn_prototext_field *field) {
    if (message->last)
        message->last->next = field;
    else
        message->first = field;
    message->last = field;
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

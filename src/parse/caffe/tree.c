/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in the tree of a description. */
#include "parse/caffe/tree.h"

#include "base/status.h"
#include "parse/caffe/lexer.h"

#include <stdio.h>
#include <string.h>

void tn_caffe_message_append(tn_caffe_message *message, tn_caffe_field *field) {
    if (message->last)
        message->last->next = field;
    else
        message->first = field;
    message->last = field;
}

const tn_caffe_field *tn_caffe_message_next(const tn_caffe_message *message, const char *name,
                                            const tn_caffe_field *after) {
    const tn_caffe_field *field = after ? after->next : message ? message->first : NULL;
    while (field && strcmp(field->name, name) != 0)
        field = field->next;
    return field;
}

static const tn_caffe_field *find(const tn_caffe_message *message, const char *name) {
    return tn_caffe_message_next(message, name, NULL);
}

bool tn_caffe_has(const tn_caffe_message *message, const char *name) {
    return find(message, name) != NULL;
}

int64_t tn_caffe_integer(const tn_caffe_message *message, const char *name, int64_t fallback) {
    const tn_caffe_field *field = find(message, name);
    return field ? field->integer : fallback;
}

bool tn_caffe_field_number(const tn_caffe_field *field, double *out_value) {
    if (field->kind == TN_CAFFE_WORD) return tn_caffe_special_number(field->text, out_value);
    *out_value = field->number;
    return field->kind == TN_CAFFE_NUMBER;
}

double tn_caffe_number(const tn_caffe_message *message, const char *name, double fallback) {
    const tn_caffe_field *field = find(message, name);
    double value = fallback;
    if (field && !tn_caffe_field_number(field, &value)) return fallback;
    return value;
}

bool tn_caffe_bool(const tn_caffe_message *message, const char *name, bool fallback) {
    const tn_caffe_field *field = find(message, name);
    if (!field) return fallback;
    return field->kind == TN_CAFFE_WORD ? field->text[0] == 't' || field->text[0] == 'T'
                                        : field->integer != 0;
}

const char *tn_caffe_text(const tn_caffe_message *message, const char *name, const char *fallback) {
    const tn_caffe_field *field = find(message, name);
    return field && field->text ? field->text : fallback;
}

const tn_caffe_message *tn_caffe_child(const tn_caffe_message *message, const char *name) {
    const tn_caffe_field *field = find(message, name);
    return field ? field->message : NULL;
}

size_t tn_caffe_count(const tn_caffe_message *message, const char *name) {
    size_t count = 0;
    for (const tn_caffe_field *field = find(message, name); field;
         field = tn_caffe_message_next(message, name, field))
        count++;
    return count;
}

size_t tn_caffe_integers(const tn_caffe_message *message, const char *name, size_t capacity,
                         int64_t *out_values) {
    size_t count = 0;
    for (const tn_caffe_field *field = find(message, name); field;
         field = tn_caffe_message_next(message, name, field), count++)
        if (count < capacity) out_values[count] = field->integer;
    return count;
}

tn_status tn_caffe_fail_at(uint32_t line, uint32_t column, tn_status status, const char *format,
                           ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (line == 0) return tn_fail(status, "%s", text);
    return tn_fail(status, "line %u, column %u: %s", line, column, text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and types of a text's fields, checked by the tables that .proto files become. Only
 * what is used is checked: a layer of training may hold what nobody here knows.
 */
#include "base/status.h"
#include "base/text.h"
#include "importers/prototext/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEEN_WORDS 4 /* singular fields of one message that are told apart: 256 */

static tn_status fail_field(const tn_prototext_field *field, const char *expected) {
    if (field->text)
        return tn_prototext_fail_at(field->line, field->column,
                                    "field '%.80s' is %s; '%.40s' is not", field->name, expected,
                                    field->text);
    return tn_prototext_fail_at(field->line, field->column, "field '%.80s' is %s, not a message",
                                field->name, expected);
}

static tn_status fail_unknown(const tn_prototext_field *field,
                              const ProtobufCMessageDescriptor *schema) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, field->name);
    for (unsigned i = 0; i < schema->n_fields; i++)
        tn_nearest_offer(&nearest, schema->fields[i].name);
    return tn_error_mend_nearest(tn_prototext_fail_at(field->line, field->column,
                                                      "%s has no field '%.80s'", schema->short_name,
                                                      field->name),
                                 "; ", nearest.best);
}

static tn_status check_integer(const tn_prototext_field *field, int64_t low, int64_t high) {
    char expected[80];
    if (field->kind == TN_PROTOTEXT_NUMBER && field->is_integer && field->integer >= low &&
        field->integer <= high)
        return TN_OK;
    snprintf(expected, sizeof(expected), "a whole number from %" PRId64 " to %" PRId64, low, high);
    return fail_field(field, expected);
}

static tn_status check_bool(const tn_prototext_field *field) {
    static const char *const words[] = {"true", "false", "t", "f", "True", "False"};
    if (field->kind == TN_PROTOTEXT_NUMBER && field->is_integer &&
        (field->integer == 0 || field->integer == 1))
        return TN_OK;
    for (size_t i = 0; field->kind == TN_PROTOTEXT_WORD && i < TN_COUNT(words); i++)
        if (strcmp(field->text, words[i]) == 0) return TN_OK;
    return fail_field(field, "true or false");
}

/* Numbers of an enumeration become words. */
static tn_status check_enum(tn_prototext_field *field, const ProtobufCEnumDescriptor *schema) {
    const ProtobufCEnumValue *value = NULL;
    tn_nearest nearest;
    if (field->kind == TN_PROTOTEXT_WORD)
        value = protobuf_c_enum_descriptor_get_value_by_name(schema, field->text);
    if (field->kind == TN_PROTOTEXT_NUMBER && field->is_integer && field->integer >= 0 &&
        field->integer <= INT32_MAX)
        value = protobuf_c_enum_descriptor_get_value(schema, (int)field->integer);
    if (value) {
        field->kind = TN_PROTOTEXT_WORD;
        field->text = value->name;
        return TN_OK;
    }
    if (!field->text) return fail_field(field, "a word");
    tn_nearest_init(&nearest, field->text);
    for (unsigned i = 0; i < schema->n_value_names; i++)
        tn_nearest_offer(&nearest, schema->values_by_name[i].name);
    return tn_error_mend(tn_prototext_fail_at(field->line, field->column,
                                              "field '%s' has no choice '%.40s'", field->name,
                                              field->text),
                         "; ", "%s is %s%s", nearest.best ? "the nearest" : "one",
                         nearest.best ? nearest.best : schema->values_by_name[0].name,
                         field->kind == TN_PROTOTEXT_STRING ? " (a word without quotes)" : "");
}

static tn_status check_string(const tn_prototext_field *field, bool is_text) {
    if (field->kind != TN_PROTOTEXT_STRING) return fail_field(field, "a text in quotes");
    if (is_text && field->line > 0 && strlen(field->text) != field->bytes)
        return tn_prototext_fail_at(field->line, field->column,
                                    "field '%.80s' is a text, and contains a NUL", field->name);
    return TN_OK;
}

static tn_status check_value(tn_prototext_field *field, const ProtobufCFieldDescriptor *schema) {
    double number;
    switch (schema->type) {
    case PROTOBUF_C_TYPE_INT32:
        return check_integer(field, INT32_MIN, INT32_MAX);
    case PROTOBUF_C_TYPE_UINT32:
        return check_integer(field, 0, INT32_MAX);
    case PROTOBUF_C_TYPE_INT64:
        return check_integer(field, INT64_MIN, INT64_MAX);
    case PROTOBUF_C_TYPE_BOOL:
        return check_bool(field);
    case PROTOBUF_C_TYPE_ENUM:
        return check_enum(field, schema->descriptor);
    case PROTOBUF_C_TYPE_STRING:
        return check_string(field, true);
    case PROTOBUF_C_TYPE_BYTES:
        return check_string(field, false);
    case PROTOBUF_C_TYPE_MESSAGE:
        return field->kind == TN_PROTOTEXT_MESSAGE ? TN_OK
                                                   : fail_field(field, "a message in braces");
    default: /* float, double */
        return field->kind != TN_PROTOTEXT_MESSAGE && field->kind != TN_PROTOTEXT_STRING &&
                       tn_prototext_field_number(field, &number)
                   ? TN_OK
                   : fail_field(field, "a number");
    }
}

/* A singular field is there once. */
static tn_status note_field(const tn_prototext_field *field, size_t index, uint64_t *seen) {
    uint64_t bit = UINT64_C(1) << (index % 64);
    if (index >= (size_t)SEEN_WORDS * 64) return TN_OK;
    if (seen[index / 64] & bit)
        return tn_prototext_fail_at(field->line, field->column, "field '%s' is given twice",
                                    field->name);
    if (field->is_item)
        return tn_prototext_fail_at(field->line, field->column,
                                    "field '%s' is one value, not a list", field->name);
    seen[index / 64] |= bit;
    return TN_OK;
}

static bool is_param(const tn_prototext_field *field) {
    size_t length = strlen(field->name);
    return field->kind == TN_PROTOTEXT_MESSAGE && length > 6 &&
           strcmp(field->name + length - 6, "_param") == 0;
}

/* What says whether a layer is used, and what it is called in messages. */
static bool is_rule(const char *name) {
    static const char *const names[] = {"name", "type", "bottom", "top", "include", "exclude"};
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static tn_status check_field(tn_prototext_field *field, const ProtobufCFieldDescriptor *schema,
                             uint32_t flags) {
    TN_TRY(check_value(field, schema));
    bool is_layer = strcmp(field->name, "layer") == 0 || strcmp(field->name, "layers") == 0;
    if (field->kind != TN_PROTOTEXT_MESSAGE || ((flags & TN_PROTOTEXT_LAYERS_LATER) && is_layer))
        return TN_OK;
    return tn_prototext_schema_check(field->message, schema->descriptor,
                                     flags & TN_PROTOTEXT_KNOWN_ONLY);
}

/* protobuf-c cannot have a field "base": the table calls it "base_". */
const ProtobufCFieldDescriptor *tn_prototext_schema_find(const ProtobufCMessageDescriptor *schema,
                                                         const char *name) {
    return protobuf_c_message_descriptor_get_field_by_name(
        schema, strcmp(name, "base") == 0 ? "base_" : name);
}

/* Recursion is bounded by the tree's depth. */
tn_status tn_prototext_schema_check(tn_prototext_message *message,
                                    const ProtobufCMessageDescriptor *schema, uint32_t flags) {
    uint64_t seen[SEEN_WORDS] = {0};
    if (schema->n_fields == 0) return TN_OK; /* what nobody reads */
    for (tn_prototext_field *field = message->first; field; field = field->next) {
        const ProtobufCFieldDescriptor *known = tn_prototext_schema_find(schema, field->name);
        if ((flags & TN_PROTOTEXT_RULES_ONLY) && !is_rule(field->name)) continue;
        if (!known && (flags & TN_PROTOTEXT_CUSTOM_PARAMS) && is_param(field)) continue;
        if (!known && strcmp(field->name, TN_PROTOTEXT_UNNAMED) == 0) continue;
        if (!known && (flags & TN_PROTOTEXT_KNOWN_ONLY)) continue;
        if (!known) return fail_unknown(field, schema);
        if (known->label != PROTOBUF_C_LABEL_REPEATED)
            TN_TRY(note_field(field, (size_t)(known - schema->fields), seen));
        TN_TRY(check_field(field, known, flags));
    }
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a layer whose operator is a library's, as importers/common/custom.h takes them:
 * by name from the layer's "..._param" messages, inner messages as "outer.inner".
 */
#include "base/status.h"
#include "importers/caffe/custom_layer.h"

#include <string.h>

#define FIELDS_AT_MOST 256
#define VALUES_AT_MOST 65536

typedef struct custom_fields {
    tn_custom_field *items;
    size_t count, capacity;
} custom_fields;

static bool ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), wanted = strlen(ending);
    return length >= wanted && strcmp(name + length - wanted, ending) == 0;
}

/* How weights are filled before training, and whose code runs a layer, are nothing to a plugin. */
static bool is_skipped(const char *name) {
    return ends_with(name, "filler") || strcmp(name, "engine") == 0;
}

static bool is_boolean(const tn_prototext_field *field) {
    return field->kind == TN_PROTOTEXT_WORD &&
           (strcmp(field->text, "true") == 0 || strcmp(field->text, "false") == 0);
}

/* What all values of a list have in common. */
static uint32_t list_type(const tn_prototext_message *message, const char *name) {
    uint32_t type = TN_FIELD_I64;
    double number;
    for (const tn_prototext_field *field = tn_prototext_message_next(message, name, NULL); field;
         field = tn_prototext_message_next(message, name, field)) {
        if (field->kind == TN_PROTOTEXT_MESSAGE) return 0;
        if (!is_boolean(field) && !tn_prototext_field_number(field, &number))
            return TN_FIELD_STRING;
        if (!is_boolean(field) && !field->is_integer) type = TN_FIELD_F64;
    }
    return type;
}

static int64_t integer_value(const tn_prototext_field *field) {
    return is_boolean(field) ? field->text[0] == 't' : field->integer;
}

static tn_status read_list(tn_arena *arena, const tn_prototext_message *message, const char *name,
                           tn_attribute *value) {
    size_t count = tn_prototext_count(message, name), i = 0;
    uint32_t type = list_type(message, name);
    if (type == 0) return tn_fail(TN_ERROR_UNSUPPORTED, "lists of messages are not supported");
    int64_t *integers = tn_arena_allocate(arena, count, sizeof(*integers));
    double *numbers = tn_arena_allocate(arena, count, sizeof(*numbers));
    const char **texts = tn_arena_allocate(arena, count, sizeof(*texts));
    if (!integers || !numbers || !texts) return tn_fail_memory("a field");
    for (const tn_prototext_field *field = tn_prototext_message_next(message, name, NULL); field;
         field = tn_prototext_message_next(message, name, field), i++) {
        texts[i] = field->text;
        integers[i] = integer_value(field);
        (void)tn_prototext_field_number(field, &numbers[i]);
    }
    value->type = type == TN_FIELD_I64   ? TN_FIELD_I64S
                  : type == TN_FIELD_F64 ? TN_FIELD_F64S
                                         : TN_FIELD_STRINGS;
    value->items = type == TN_FIELD_I64   ? (const void *)integers
                   : type == TN_FIELD_F64 ? (const void *)numbers
                                          : (const void *)texts;
    value->count = count;
    return TN_OK;
}

static void read_single(const tn_prototext_message *message, const tn_prototext_field *field,
                        tn_attribute *value) {
    value->type = is_boolean(field) ? TN_FIELD_BOOL : list_type(message, field->name);
    value->i = integer_value(field);
    value->s = field->text;
    (void)tn_prototext_field_number(field, &value->f);
}

/* The values in a message and in those inside; recursion is bounded by the tree's depth. */
static size_t count_values(const tn_prototext_message *message) {
    size_t count = 0;
    for (const tn_prototext_field *field = message->first; field; field = field->next)
        count += 1 + (field->kind == TN_PROTOTEXT_MESSAGE ? count_values(field->message) : 0);
    return count;
}

static bool is_read(const custom_fields *fields, size_t from, const char *name) {
    for (size_t i = from; i < fields->count; i++)
        if (strcmp(fields->items[i].value.name, name) == 0) return true;
    return false;
}

/* Recursion is bounded by the tree's depth. */
static tn_status read_params(tn_arena *arena, const tn_prototext_message *message,
                             const char *prefix, custom_fields *fields) {
    size_t from = fields->count;
    for (const tn_prototext_field *field = message->first; field; field = field->next) {
        if (is_skipped(field->name)) continue;
        const char *name = tn_arena_format(arena, "%s%s", prefix, field->name);
        if (!name) return tn_fail_memory("a field");
        if (is_read(fields, from, name)) continue; /* of a list */
        bool is_list = field->is_item || tn_prototext_message_next(message, field->name, field);
        if (field->kind == TN_PROTOTEXT_MESSAGE && !is_list) {
            const char *inner = tn_arena_format(arena, "%s.", name);
            if (!inner) return tn_fail_memory("a field");
            TN_TRY(read_params(arena, field->message, inner, fields));
            continue;
        }
        if (fields->count == fields->capacity)
            return tn_fail(TN_ERROR_FORMAT, "a layer has more than %d parameters", FIELDS_AT_MOST);
        tn_attribute *value = &fields->items[fields->count++].value;
        *value = (tn_attribute){.size = sizeof(*value), .name = name};
        tn_status status = TN_OK;
        if (is_list)
            status = read_list(arena, message, field->name, value);
        else
            read_single(message, field, value);
        if (status != TN_OK) return tn_error_at(status, "field '%s'", name);
    }
    return TN_OK;
}

tn_status tn_caffe_custom_fields_read(const tn_caffe_layer *layer, size_t *out_count,
                                      tn_custom_field **out_fields) {
    tn_arena *arena = layer->reader->arena;
    custom_fields own = {0};
    size_t values = count_values(layer->message);
    if (values > VALUES_AT_MOST)
        return tn_fail(TN_ERROR_FORMAT, "a layer has %zu values; at most %d are read", values,
                       VALUES_AT_MOST);
    own.capacity = values < FIELDS_AT_MOST ? values : FIELDS_AT_MOST;
    own.items = tn_arena_allocate(arena, own.capacity, sizeof(*own.items));
    if (!own.items) return tn_fail_memory("a layer");
    for (const tn_prototext_field *field = layer->message->first; field; field = field->next) {
        if (field->kind != TN_PROTOTEXT_MESSAGE || !ends_with(field->name, "_param") ||
            strcmp(field->name, "transform_param") == 0 || strcmp(field->name, "loss_param") == 0)
            continue;
        if (strcmp(field->name, TN_PROTOTEXT_UNNAMED) == 0)
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "a layer of type '%.200s' has parameters that Caffe does not have; the "
                           "binary form numbers them and does not name them: give the network's "
                           "text (.prototxt)",
                           layer->type_name);
        TN_TRY(read_params(arena, field->message, "", &own));
    }
    *out_count = own.count;
    *out_fields = own.items;
    return TN_OK;
}

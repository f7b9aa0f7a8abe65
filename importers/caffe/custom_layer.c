/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that a plugin's operator serves: of a type that Caffe does not have, or of one that a
 * given library has an operator for. Their parameters are read by name from the layer's "..._param"
 * messages, inner messages as "outer.inner"; their blobs are the operator's tensor fields, in the
 * order of its table.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"
#include "importers/common/custom.h"

#include <string.h>

#define FIELDS_AT_MOST 256
#define VALUES_AT_MOST 65536

bool tn_caffe_custom_is_wanted(const tn_caffe_reader *reader, const tn_caffe_layer *layer) {
    return !layer->type || reader->import->services->is_given(reader->import, layer->type_name);
}

/* ----------------------------------------------------------------------------------------------
 * fields */

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

static tn_status read_list(tn_caffe_reader *reader, const tn_prototext_message *message,
                           const char *name, tn_attribute *value) {
    size_t count = tn_prototext_count(message, name), i = 0;
    uint32_t type = list_type(message, name);
    if (type == 0) return tn_fail(TN_ERROR_UNSUPPORTED, "lists of messages are not supported");
    int64_t *integers = tn_arena_allocate(reader->arena, count, sizeof(*integers));
    double *numbers = tn_arena_allocate(reader->arena, count, sizeof(*numbers));
    const char **texts = tn_arena_allocate(reader->arena, count, sizeof(*texts));
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
static tn_status read_params(tn_caffe_reader *reader, const tn_prototext_message *message,
                             const char *prefix, custom_fields *fields) {
    size_t from = fields->count;
    for (const tn_prototext_field *field = message->first; field; field = field->next) {
        if (is_skipped(field->name)) continue;
        const char *name = tn_arena_format(reader->arena, "%s%s", prefix, field->name);
        if (!name) return tn_fail_memory("a field");
        if (is_read(fields, from, name)) continue; /* of a list */
        bool is_list = field->is_item || tn_prototext_message_next(message, field->name, field);
        if (field->kind == TN_PROTOTEXT_MESSAGE && !is_list) {
            const char *inner = tn_arena_format(reader->arena, "%s.", name);
            if (!inner) return tn_fail_memory("a field");
            TN_TRY(read_params(reader, field->message, inner, fields));
            continue;
        }
        if (fields->count == fields->capacity)
            return tn_fail(TN_ERROR_FORMAT, "a layer has more than %d parameters", FIELDS_AT_MOST);
        tn_attribute *value = &fields->items[fields->count++].value;
        *value = (tn_attribute){.size = sizeof(*value), .name = name};
        tn_status status = TN_OK;
        if (is_list)
            status = read_list(reader, message, field->name, value);
        else
            read_single(message, field, value);
        if (status != TN_OK) return tn_error_at(status, "field '%s'", name);
    }
    return TN_OK;
}

static tn_status read_fields(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                             custom_fields *fields) {
    size_t values = count_values(layer->message);
    if (values > VALUES_AT_MOST)
        return tn_fail(TN_ERROR_FORMAT, "a layer has %zu values; at most %d are read", values,
                       VALUES_AT_MOST);
    fields->capacity = values < FIELDS_AT_MOST ? values : FIELDS_AT_MOST;
    fields->items = tn_arena_allocate(reader->arena, fields->capacity, sizeof(*fields->items));
    if (!fields->items) return tn_fail_memory("a layer");
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
        TN_TRY(read_params(reader, field->message, "", fields));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * blobs */

static uint32_t tensor_field_count(const tn_operator *op) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_import_field(op, i);
        count += field && field->type == TN_FIELD_TENSOR;
    }
    return count;
}

static tn_status read_blob(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t index,
                           const tn_field *field, tn_attribute *attribute) {
    tn_shape shape;
    const float *data = NULL;
    TN_TRY(tn_caffe_blob_any(reader, layer, index, &shape, &data));
    tn_tensor_storage *storage = tn_arena_allocate(reader->arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a field");
    TN_TRY(tn_tensor_init(storage, TN_F32, TN_LINEAR, &shape));
    storage->tensor.data = (void *)(uintptr_t)data;
    *attribute = (tn_attribute){.size = sizeof(*attribute),
                                .type = TN_FIELD_TENSOR,
                                .name = field->name,
                                .tensor = &storage->tensor};
    return TN_OK;
}

/* The operator's tensor fields from the layer's blobs; one that is not required may be without. */
static tn_status add_blobs(tn_caffe_reader *reader, tn_caffe_layer *layer, const tn_operator *op,
                           uint64_t *count, const tn_attribute *const **attributes) {
    uint32_t blob_count = tn_caffe_blob_count(reader, layer), index = 0;
    uint32_t most = tensor_field_count(op);
    const tn_attribute **list =
        tn_arena_allocate(reader->arena, (size_t)*count + most, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(reader->arena, most, sizeof(*values));
    if (!list || !values) return tn_fail_memory("a layer");
    if (*count > 0) memcpy(list, *attributes, (size_t)*count * sizeof(*list));
    if (blob_count > most)
        return tn_fail(TN_ERROR_FORMAT,
                       "the weights' file has %u blobs for it, but operator '%s' has %u tensor "
                       "fields",
                       blob_count, op->name, most);
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_import_field(op, i);
        if (!field || field->type != TN_FIELD_TENSOR) continue;
        uint32_t blob = index++;
        if (blob >= blob_count && !(field->flags & TN_REQUIRED)) continue;
        TN_TRY(read_blob(reader, layer, blob, field, &values[blob]));
        list[(*count)++] = &values[blob];
    }
    *attributes = list;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the node */

typedef struct custom_node {
    const tn_operator *op;
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
} custom_node;

/* What stands for an extent that is open while the operator is asked for shapes, once and again. */
static int64_t stand_in(uint32_t axis, bool is_second) {
    if (axis == 0) return is_second ? 2 : 1;
    return is_second ? 320 : 256;
}

static tn_status ask(tn_caffe_reader *reader, const tn_caffe_layer *layer, const custom_node *node,
                     bool is_second, tn_shape *out_shapes) {
    tn_custom_input *inputs =
        tn_arena_allocate(reader->arena, layer->bottom_count, sizeof(*inputs));
    tn_type *types = tn_arena_allocate(reader->arena, layer->top_count, sizeof(*types));
    if (!inputs || !types) return tn_fail_memory("a layer");
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        const tn_caffe_value *x = &layer->bottoms[i];
        inputs[i] = (tn_custom_input){
            .name = layer->bottom_names[i], .type = TN_F32, .shape.rank = x->rank};
        for (uint32_t axis = 0; axis < x->rank; axis++)
            inputs[i].shape.extents[axis] =
                x->extents[axis] < 0 ? stand_in(axis, is_second) : x->extents[axis];
    }
    return tn_custom_infer(reader->import, reader->arena, layer->name, node->op,
                           node->attribute_count, node->attributes, layer->bottom_count, inputs,
                           layer->top_count, types, out_shapes);
}

/* The tops' shapes: extents of which two answers differ are open. An operator that refuses what
 * stands in for open extents leaves them unknown. */
static tn_status find_shapes(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                             const custom_node *node, tn_caffe_value *values) {
    tn_shape *shapes =
        tn_arena_allocate(reader->arena, 2 * (size_t)layer->top_count + 1, sizeof(*shapes));
    bool is_known = true, is_open = false;
    if (!shapes) return tn_fail_memory("a layer");
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        const tn_caffe_value *x = &layer->bottoms[i];
        is_known &= x->rank != UINT32_MAX;
        for (uint32_t axis = 1; is_known && axis < x->rank; axis++)
            is_open |= x->extents[axis] < 0;
    }
    tn_status status = TN_OK;
    for (uint32_t turn = 0; turn < 2 && is_known && status == TN_OK; turn++)
        status = ask(reader, layer, node, turn == 1, shapes + turn * layer->top_count);
    if (status == TN_ERROR_MEMORY || (status != TN_OK && !is_open)) return status;
    if (status != TN_OK) tn_error_clear();
    for (uint32_t i = 0; i < layer->top_count; i++) {
        const tn_shape *a = &shapes[i], *b = &shapes[layer->top_count + i];
        bool is_sure = is_known && status == TN_OK && a->rank == b->rank;
        values[i].rank = is_sure ? a->rank : UINT32_MAX;
        for (uint32_t axis = 0; is_sure && axis < a->rank; axis++)
            values[i].extents[axis] = a->extents[axis] == b->extents[axis] ? a->extents[axis] : -1;
    }
    return TN_OK;
}

/* Not by tn_graph_add_node, which would copy the blobs. */
static tn_status add_node(tn_caffe_reader *reader, tn_caffe_layer *layer, const custom_node *node) {
    const char **names = tn_arena_allocate(reader->arena, layer->top_count, sizeof(*names));
    tn_import_tensor *inputs =
        tn_arena_allocate(reader->arena, layer->bottom_count, sizeof(*inputs));
    tn_import_tensor *outputs =
        tn_arena_allocate(reader->arena, layer->top_count, sizeof(*outputs));
    tn_caffe_value *values = tn_arena_allocate(reader->arena, layer->top_count, sizeof(*values));
    if (!names || !inputs || !outputs || !values) return tn_fail_memory("a layer");
    TN_TRY(find_shapes(reader, layer, node, values));
    TN_TRY(tn_caffe_top_names(reader, layer, layer->top_count, names, NULL));
    for (uint32_t i = 0; i < layer->bottom_count; i++)
        inputs[i] = layer->bottoms[i].tensor;
    for (uint32_t i = 0; i < layer->top_count; i++) {
        TN_TRY(tn_import_add_tensor(reader->graph, names[i], &outputs[i]));
        values[i].tensor = outputs[i];
        TN_TRY(tn_caffe_set_value(reader, layer->top_names[i], &values[i]));
    }
    return tn_import_add_node(reader->graph, layer->name, node->op, node->attribute_count,
                              node->attributes, layer->bottom_count, inputs, layer->top_count,
                              outputs);
}

/* A type that is one of Caffe's but for a slip is told so. */
static tn_status fail_missing(const tn_caffe_layer *layer, tn_status status) {
    const char *nearest = tn_caffe_type_nearest(layer->type_name);
    if (status != TN_ERROR_UNSUPPORTED || !nearest) return status;
    return tn_error_mend(status, "; ", "the nearest of Caffe's own layers is '%s'", nearest);
}

static tn_status find_operator(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                               custom_node *node) {
    custom_fields fields = {0};
    TN_TRY(read_fields(reader, layer, &fields));
    tn_status status =
        tn_custom_find(reader->import, reader->arena, layer->type_name, fields.count, fields.items,
                       &node->op, &node->attribute_count, &node->attributes);
    return status == TN_OK ? TN_OK : fail_missing(layer, status);
}

tn_status tn_caffe_customs_check(tn_caffe_reader *reader) {
    const tn_import_services *services = reader->import->services;
    for (size_t i = 0; i < reader->layer_count; i++) {
        const tn_caffe_layer *layer = &reader->layers[i];
        custom_node node = {0};
        if (layer->type || services->is_missing(reader->import, layer->type_name)) continue;
        tn_status status = find_operator(reader, layer, &node);
        if (status == TN_ERROR_UNSUPPORTED)
            status = services->add_missing(reader->import, layer->type_name, layer->name);
        if (status != TN_OK) return tn_error_in(status, .node_kind = "layer", .node = layer->name);
    }
    return services->report_missing(reader->import);
}

tn_status tn_caffe_read_custom(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    custom_node node = {0};
    TN_TRY(find_operator(reader, layer, &node));
    tn_status status = add_blobs(reader, layer, node.op, &node.attribute_count, &node.attributes);
    if (status == TN_OK) status = add_node(reader, layer, &node);
    return status;
}

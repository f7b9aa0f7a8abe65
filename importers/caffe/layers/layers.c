/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all layers have in common: which are used, their names and types, bottoms and tops, in both
 * forms of a description ("layer", and "layers" of before 2014's end). What each type does is in
 * layers_*.c.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"
#include "importers/caffe/net.pb-c.h"

#include <inttypes.h>
#include <string.h>

static tn_status at_layer(const tn_caffe_layer *layer, tn_status status) {
    const char *name = layer->name ? layer->name : "";
    return tn_error_in(status, .node_kind = "layer", .node = name, .line = layer->line);
}

static tn_status read_names(const tn_caffe_layer *layer, const char *field, const char ***out_names,
                            uint32_t *out_count) {
    size_t count = tn_prototext_count(layer->message, field);
    if (count > TN_CAFFE_PORTS)
        return tn_fail(TN_ERROR_FORMAT, "%zu fields '%s'; at most %d are read", count, field,
                       TN_CAFFE_PORTS);
    const char **names = tn_arena_allocate(layer->reader->arena, count + 1, sizeof(*names));
    if (!names) return tn_fail_memory("a layer");
    const tn_prototext_field *value = NULL;
    for (size_t i = 0; i < count; i++) {
        value = tn_prototext_message_next(layer->message, field, value);
        if (!*value->text)
            return tn_prototext_fail_at(value->line, value->column, "'%s' is empty", field);
        names[i] = value->text;
        for (size_t j = 0; j < i && strcmp(field, "top") == 0; j++)
            if (strcmp(names[j], names[i]) == 0)
                return tn_prototext_fail_at(value->line, value->column, "top '%s' is there twice",
                                            names[i]);
    }
    *out_names = names;
    *out_count = (uint32_t)count;
    return TN_OK;
}

static tn_status fail_python(const tn_caffe_layer *layer) {
    const tn_prototext_message *params = tn_prototext_child(layer->message, "python_param");
    return tn_fail(
        TN_ERROR_UNSUPPORTED,
        "layers of type Python cannot be run (module '%.200s', layer '%.200s'): write it "
        "as a plugin of another type",
        tn_prototext_text(params, "module", ""), tn_prototext_text(params, "layer", ""));
}

static tn_status find_type(tn_caffe_layer *layer, bool is_old) {
    const char *type = tn_prototext_text(layer->message, "type", "");
    if (tn_prototext_has(layer->message, "layer") && is_old)
        return tn_fail(
            TN_ERROR_UNSUPPORTED,
            "it is written in Caffe's oldest form (a layer inside of layers); upgrade it "
            "with Caffe's upgrade_net_proto_text");
    if (!*type) return tn_fail(TN_ERROR_FORMAT, "it has no type");
    layer->type = is_old ? tn_caffe_type_find_old(type) : tn_caffe_type_find(type);
    if (is_old && !layer->type)
        return tn_fail(TN_ERROR_UNSUPPORTED, "layers of type %s are not supported", type);
    layer->type_name = is_old ? layer->type->name : type;
    if (strcmp(layer->type_name, "Python") == 0) return fail_python(layer);
    if (tn_caffe_custom_is_wanted(layer)) layer->type = NULL;
    return TN_OK;
}

static tn_status check_count(const char *what, uint32_t count, uint32_t low, uint32_t high) {
    if (count >= low && count <= high) return TN_OK;
    if (low == high)
        return tn_fail(TN_ERROR_FORMAT, "it has %" PRIu32 " %s; %" PRIu32 " are expected", count,
                       what, low);
    return tn_fail(TN_ERROR_FORMAT,
                   "it has %" PRIu32 " %s; from %" PRIu32 " to %" PRIu32 " are expected", count,
                   what, low, high);
}

static tn_status read_ports(tn_caffe_layer *layer) {
    const tn_caffe_type *type = layer->type;
    TN_TRY(read_names(layer, "bottom", &layer->bottom_names, &layer->bottom_count));
    TN_TRY(read_names(layer, "top", &layer->top_names, &layer->top_count));
    if (!type) return TN_OK;
    if (type->role ==
        TN_CAFFE_LOSS) { /* the labels are not there; its value is called as the layer, one without
              a name as its type: a graph's tensor with an empty name is none */
        layer->bottom_count = layer->bottom_count > 0;
        if (layer->top_count == 0)
            layer->top_names[0] = *layer->name ? layer->name : layer->type_name;
        layer->top_count = 1;
    }
    TN_TRY(
        check_count("bottoms", layer->bottom_count, type->minimum_bottoms, type->maximum_bottoms));
    return check_count("tops", layer->top_count, type->minimum_tops, type->maximum_tops);
}

/* The blobs that layers share by name belong to the first one. */
static tn_status note_owners(const tn_caffe_layer *layer, bool is_old) {
    tn_map *owners = layer->reader->param_owners;
    const tn_prototext_field *field = NULL;
    for (uint32_t blob = 0; blob < TN_CAFFE_BLOBS; blob++) {
        field = tn_prototext_message_next(layer->message, "param", field);
        if (!field) break;
        const char *name = is_old ? field->text : tn_prototext_text(field->message, "name", "");
        uint64_t owner;
        if (*name && !tn_map_get(owners, name, &owner))
            TN_TRY(tn_map_set(owners, name, (uint64_t)layer->index * TN_CAFFE_BLOBS + blob));
    }
    return TN_OK;
}

static tn_status note_writers(const tn_caffe_layer *layer) {
    if (layer->type && layer->type->role == TN_CAFFE_ALIAS) return TN_OK;
    for (uint32_t i = 0; i < layer->top_count; i++)
        TN_TRY(tn_map_set(layer->reader->last_writers, layer->top_names[i], layer->index));
    return TN_OK;
}

/* Fills in a layer; *out_is_used: whether it is to be kept. */
static tn_status read_layer(tn_caffe_layer *layer, bool is_old, bool *out_is_used) {
    const ProtobufCMessageDescriptor *schema =
        is_old ? &tenon__caffe__net__v1_layer_parameter__descriptor
               : &tenon__caffe__net__layer_parameter__descriptor;
    TN_TRY(tn_prototext_schema_check(layer->message, schema, TN_PROTOTEXT_RULES_ONLY));
    layer->name = tn_prototext_text(layer->message, "name", "");
    TN_TRY(tn_caffe_rules_met(layer->reader, layer->message, out_is_used));
    if (!*out_is_used) return TN_OK;
    TN_TRY(find_type(layer, is_old));
    *out_is_used = !layer->type || layer->type->role != TN_CAFFE_SINK;
    if (!*out_is_used) return TN_OK;
    TN_TRY(tn_prototext_schema_check(layer->message, schema,
                                     layer->type ? 0 : TN_PROTOTEXT_CUSTOM_PARAMS));
    if (layer->type && layer->type->param)
        layer->params = tn_prototext_child(layer->message, layer->type->param);
    TN_TRY(read_ports(layer));
    TN_TRY(note_owners(layer, is_old));
    return note_writers(layer);
}

tn_status tn_caffe_layers_collect(tn_caffe_reader *reader) {
    bool is_old = tn_prototext_has(reader->network, "layers");
    const char *field_name = is_old ? "layers" : "layer";
    size_t count = tn_prototext_count(reader->network, field_name);
    if (is_old && tn_prototext_has(reader->network, "layer"))
        return tn_fail(TN_ERROR_FORMAT,
                       "the network has both 'layer' and 'layers': write all in one form");
    if (count == 0)
        return tn_fail(TN_ERROR_FORMAT, "there is no layer: is it a network's description?");
    TN_TRY(tn_caffe_state_check(reader));
    reader->layers = tn_arena_allocate(reader->arena, count, sizeof(*reader->layers));
    if (!reader->layers) return tn_fail_memory("the layers");
    const tn_prototext_field *field = NULL;
    while ((field = tn_prototext_message_next(reader->network, field_name, field))) {
        tn_caffe_layer layer = {.reader = reader,
                                .emit = &reader->emit,
                                .message = field->message,
                                .line = field->line,
                                .column = field->column,
                                .index = reader->layer_count};
        bool is_used = false;
        tn_status status = read_layer(&layer, is_old, &is_used);
        if (status != TN_OK) return at_layer(&layer, status);
        if (is_used) reader->layers[reader->layer_count++] = layer;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * building */

static tn_status fail_bottom(const tn_caffe_reader *reader, const char *name) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < reader->value_count; i++)
        tn_nearest_offer(&nearest, reader->values[i].name);
    return tn_error_mend_nearest(
        tn_fail(TN_ERROR_FORMAT, "no layer before it makes its bottom '%.200s'", name), "; ",
        nearest.best);
}

static tn_status find_bottoms(tn_caffe_layer *layer) {
    const tn_caffe_reader *reader = layer->reader;
    const uint32_t count = layer->bottom_count;
    tn_import_tensor *tensors = tn_arena_allocate(reader->arena, count, sizeof(*tensors));
    layer->bottoms = tn_arena_allocate(reader->arena, count, sizeof(*layer->bottoms));
    if (!layer->bottoms || !tensors) return tn_fail_memory("a layer");
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index;
        if (!tn_map_get(reader->blobs, layer->bottom_names[i], &index))
            return fail_bottom(reader, layer->bottom_names[i]);
        layer->bottoms[i] = reader->values[index].value;
        tensors[i] = layer->bottoms[i].tensor;
        reader->values[index].is_consumed = true;
    }
    layer->bottom_tensors = (tn_emit_tensors){count, tensors};
    return TN_OK;
}

/* A blob is made once, but for layers that work in place. */
static tn_status check_tops(const tn_caffe_layer *layer) {
    for (uint32_t i = 0; i < layer->top_count; i++) {
        uint64_t index;
        bool is_in_place = false;
        if (!tn_map_get(layer->reader->blobs, layer->top_names[i], &index)) continue;
        for (uint32_t j = 0; j < layer->bottom_count; j++)
            is_in_place |= strcmp(layer->top_names[i], layer->bottom_names[j]) == 0;
        if (!is_in_place)
            return tn_fail(TN_ERROR_FORMAT,
                           "its top '%.200s' is another layer's already, and it is not its bottom",
                           layer->top_names[i]);
    }
    return TN_OK;
}

/* A file that has more blobs than the layer takes belongs to another network. */
static tn_status check_blobs(const tn_caffe_layer *layer) {
    uint32_t count = tn_caffe_blob_count(layer);
    if (!layer->type || count <= layer->used_blobs) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT,
                   "the weights' file has %" PRIu32 " blobs for it; %" PRIu32
                   " are expected (is its bias_term or another parameter different?)",
                   count, layer->used_blobs);
}

static tn_status build(tn_caffe_layer *layer) {
    layer->emit->name = layer->name;
    if (layer->is_merged) return check_blobs(layer);
    TN_TRY(find_bottoms(layer));
    TN_TRY(check_tops(layer));
    TN_TRY(layer->type ? layer->type->read(layer) : tn_caffe_read_custom(layer));
    return check_blobs(layer);
}

tn_status tn_caffe_layer_build(tn_caffe_layer *layer) {
    return at_layer(layer, build(layer));
}

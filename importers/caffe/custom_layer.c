/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that a plugin's operator serves: of a type that Caffe does not have, or of one that a
 * given library has an operator for. Their parameters are read by name (custom_fields.c); their
 * blobs are the operator's tensor fields, in the order of its table.
 */
#include "importers/caffe/custom_layer.h"
#include "base/status.h"

#include <string.h>

bool tn_caffe_custom_is_wanted(const tn_caffe_layer *layer) {
    tn_import *import = layer->reader->import;
    return !layer->type || import->services->is_given(import, layer->type_name);
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

static tn_status read_blob(tn_caffe_layer *layer, uint32_t index, const tn_field *field,
                           tn_attribute *attribute) {
    tn_shape shape;
    const float *data = NULL;
    TN_TRY(tn_caffe_blob_any(layer, index, &shape, &data));
    tn_tensor_storage *storage = tn_arena_allocate(layer->reader->arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a field");
    TN_TRY(tn_tensor_init(storage, TN_F32, TN_LINEAR, &shape));
    storage->tensor.data = (void *)(uintptr_t)data;
    *attribute = TN_EMIT_FIELD(TN_FIELD_TENSOR, field->name, .tensor = &storage->tensor);
    return TN_OK;
}

/* The operator's tensor fields from the layer's blobs; one that is not required may be without. */
static tn_status add_blobs(tn_caffe_layer *layer, tn_custom_node *node) {
    tn_arena *arena = layer->reader->arena;
    uint32_t blob_count = tn_caffe_blob_count(layer), index = 0;
    uint32_t most = tensor_field_count(node->op);
    size_t count = (size_t)node->attribute_count;
    const tn_attribute **list = tn_arena_allocate(arena, count + most, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(arena, most, sizeof(*values));
    if (!list || !values) return tn_fail_memory("a layer");
    if (count > 0) memcpy(list, node->attributes, count * sizeof(*list));
    if (blob_count > most)
        return tn_fail(TN_ERROR_FORMAT,
                       "the weights' file has %u blobs for it, but operator '%s' has %u tensor "
                       "fields",
                       blob_count, node->op->name, most);
    for (uint32_t i = 0; i < node->op->field_count; i++) {
        const tn_field *field = tn_import_field(node->op, i);
        if (!field || field->type != TN_FIELD_TENSOR) continue;
        uint32_t blob = index++;
        if (blob >= blob_count && !(field->flags & TN_REQUIRED)) continue;
        TN_TRY(read_blob(layer, blob, field, &values[blob]));
        list[count++] = &values[blob];
    }
    node->attribute_count = count;
    node->attributes = list;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the node */

static tn_status ask(const tn_caffe_layer *layer, const tn_custom_node *node, bool is_second,
                     tn_shape *out_shapes) {
    tn_arena *arena = layer->reader->arena;
    tn_custom_input *inputs = tn_arena_allocate(arena, layer->bottom_count, sizeof(*inputs));
    tn_type *types = tn_arena_allocate(arena, layer->top_count, sizeof(*types));
    if (!inputs || !types) return tn_fail_memory("a layer");
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        const tn_caffe_value *x = &layer->bottoms[i];
        inputs[i] = (tn_custom_input){
            .name = layer->bottom_names[i], .type = TN_F32, .shape.rank = x->rank};
        memcpy(inputs[i].shape.extents, x->extents, sizeof(x->extents));
    }
    return tn_custom_infer(layer->reader->import, arena, layer->name, node, is_second,
                           layer->bottom_count, inputs, layer->top_count, types, out_shapes);
}

/* The tops' shapes: extents of which two answers differ are open. An operator that refuses what
 * stands in for open extents leaves them unknown. */
static tn_status find_shapes(const tn_caffe_layer *layer, const tn_custom_node *node,
                             tn_caffe_value *values) {
    tn_shape *shapes =
        tn_arena_allocate(layer->reader->arena, 2 * (size_t)layer->top_count + 1, sizeof(*shapes));
    bool is_known = true, is_open = false;
    if (!shapes) return tn_fail_memory("a layer");
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        const tn_caffe_value *x = &layer->bottoms[i];
        is_known &= tn_caffe_has_rank(x);
        for (uint32_t axis = 1; is_known && axis < x->rank; axis++)
            is_open |= x->extents[axis] < 0;
    }
    tn_status status = TN_OK;
    for (uint32_t round = 0; round < 2 && is_known && status == TN_OK; round++)
        status = ask(layer, node, round == 1, shapes + round * layer->top_count);
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

/* Not by the emitter, whose nodes' blobs would be copied. */
static tn_status add_node(const tn_caffe_layer *layer, const tn_custom_node *node) {
    tn_import_graph *graph = layer->reader->graph;
    const uint32_t count = layer->top_count;
    const char **names = tn_arena_allocate(layer->reader->arena, count, sizeof(*names));
    tn_import_tensor *outputs = tn_arena_allocate(layer->reader->arena, count, sizeof(*outputs));
    tn_caffe_value *values = tn_arena_allocate(layer->reader->arena, count, sizeof(*values));
    if (!names || !outputs || !values) return tn_fail_memory("a layer");
    TN_TRY(find_shapes(layer, node, values));
    for (uint32_t i = 0; i < count; i++)
        names[i] = tn_caffe_top_name(layer, i);
    TN_TRY(layer->emit->status);
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(tn_import_add_tensor(graph, names[i], &outputs[i]));
        values[i].tensor = outputs[i];
        TN_TRY(tn_caffe_set_value(layer->reader, layer->top_names[i], &values[i]));
    }
    return tn_import_add_node(graph, layer->name, node->op, node->attribute_count, node->attributes,
                              layer->bottom_count, layer->bottom_tensors.items, count, outputs);
}

/* A type that is one of Caffe's but for a slip is told so. */
static tn_status find_operator(const tn_caffe_layer *layer, tn_custom_node *out_node) {
    size_t count = 0;
    tn_custom_field *fields = NULL;
    TN_TRY(tn_caffe_custom_fields_read(layer, &count, &fields));
    const tn_status status = tn_custom_find(layer->reader->import, layer->reader->arena,
                                            layer->type_name, count, fields, out_node);
    const char *nearest = tn_caffe_type_nearest(layer->type_name);
    if (status != TN_ERROR_UNSUPPORTED || !nearest) return status;
    return tn_error_mend(status, "; ", "the nearest of Caffe's own layers is '%s'", nearest);
}

tn_status tn_caffe_customs_check(tn_caffe_reader *reader) {
    const tn_import_services *services = reader->import->services;
    for (size_t i = 0; i < reader->layer_count; i++) {
        const tn_caffe_layer *layer = &reader->layers[i];
        tn_custom_node node;
        if (layer->type || services->is_missing(reader->import, layer->type_name)) continue;
        tn_status status = find_operator(layer, &node);
        if (status == TN_ERROR_UNSUPPORTED)
            status = services->add_missing(reader->import, layer->type_name, layer->name);
        if (status != TN_OK) return tn_error_in(status, .node_kind = "layer", .node = layer->name);
    }
    return services->report_missing(reader->import);
}

tn_status tn_caffe_read_custom(tn_caffe_layer *layer) {
    tn_custom_node node = {0};
    TN_TRY(find_operator(layer, &node));
    TN_TRY(add_blobs(layer, &node));
    return add_node(layer, &node);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a layer to nodes: names, attributes, constants and rows of operators. The layers' files say
 * what; this says how it gets into the graph.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * attributes */

static tn_attribute *add(tn_caffe_attributes *attributes, const char *name, uint32_t type) {
    uint32_t place = attributes->count++; /* the layers' files add fewer than there is room for */
    attributes->items[place] =
        (tn_attribute){.size = sizeof(tn_attribute), .type = type, .name = name};
    attributes->pointers[place] = &attributes->items[place];
    return &attributes->items[place];
}

void tn_caffe_add_integer(tn_caffe_attributes *attributes, const char *name, int64_t value) {
    add(attributes, name, TN_FIELD_I64)->i = value;
}

void tn_caffe_add_float(tn_caffe_attributes *attributes, const char *name, double value) {
    add(attributes, name, TN_FIELD_F32)->f = value;
}

void tn_caffe_add_text(tn_caffe_attributes *attributes, const char *name, const char *text) {
    add(attributes, name, TN_FIELD_STRING)->s = text;
}

void tn_caffe_add_integers(tn_caffe_attributes *attributes, const char *name, size_t count,
                           const int64_t *values) {
    int64_t *copy = attributes->integers + attributes->integer_count;
    tn_attribute *attribute = add(attributes, name, TN_FIELD_I64S);
    memcpy(copy, values, count * sizeof(*copy));
    attributes->integer_count += (uint32_t)count;
    attribute->count = count;
    attribute->items = copy;
}

void tn_caffe_add_floats(tn_caffe_attributes *attributes, const char *name, size_t count,
                         const float *values) {
    tn_attribute *attribute = add(attributes, name, TN_FIELD_F32S);
    attribute->count = count;
    attribute->items = values;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

const char *tn_caffe_make_name(tn_caffe_reader *reader, const char *base) {
    uint64_t place;
    const char *name = base;
    bool is_taken = tn_import_has_tensor(reader->graph, base);
    /* the graph counts, so that many layers of one name take no time */
    while (name && (is_taken || tn_map_get(reader->last_writers, name, &place))) {
        name = tn_import_make_name(reader->graph, base);
        is_taken = false;
    }
    return name;
}

/* NOLINTBEGIN(readability-non-const-parameter): out_outputs is written through the node */
tn_status tn_caffe_node(tn_caffe_reader *reader, const char *name, const char *domain,
                        const char *op, const tn_caffe_attributes *attributes, uint32_t input_count,
                        const tn_import_tensor *inputs, uint32_t output_count,
                        const char *const *output_names, tn_import_tensor *out_outputs) {
    /* NOLINTEND(readability-non-const-parameter) */
    tn_import_node node = {.size = sizeof(node),
                           .domain = domain,
                           .op_name = op,
                           .name = name,
                           .input_count = input_count,
                           .inputs = inputs,
                           .output_count = output_count,
                           .output_names = output_names,
                           .out_outputs = out_outputs};
    if (attributes) {
        node.attribute_count = attributes->count;
        node.attributes = attributes->pointers;
    }
    return reader->import->services->add_node(reader->graph, &node);
}

tn_status tn_caffe_inner(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                         const char *domain, const char *op, const tn_caffe_attributes *attributes,
                         uint32_t input_count, const tn_import_tensor *inputs,
                         tn_import_tensor *out_tensor) {
    const char *name = tn_arena_format(reader->arena, "%s/%s", layer->name, part);
    const char *output = name ? tn_caffe_make_name(reader, name) : NULL;
    if (!output) return tn_fail_memory("a node's name");
    return tn_caffe_node(reader, name, domain, op, attributes, input_count, inputs, 1, &output,
                         out_tensor);
}

/* The last value of a blob has the blob's name, those before it have their layer's too; but an
 * input keeps its name. */
static const char *top_name(tn_caffe_reader *reader, const tn_caffe_layer *layer, uint32_t top) {
    const char *blob = layer->top_names[top];
    uint64_t last;
    bool is_last = tn_map_get(reader->last_writers, blob, &last) && (size_t)last == layer->place;
    if (is_last && !tn_import_has_tensor(reader->graph, blob)) return blob;
    const char *name = tn_arena_format(reader->arena, "%s@%s", blob, layer->name);
    return name ? tn_caffe_make_name(reader, name) : NULL;
}

tn_status tn_caffe_top(tn_caffe_reader *reader, const tn_caffe_layer *layer, uint32_t top,
                       const char *domain, const char *op, const tn_caffe_attributes *attributes,
                       uint32_t input_count, const tn_import_tensor *inputs,
                       const tn_caffe_value *shape) {
    tn_caffe_value value = *shape;
    const char *name = top_name(reader, layer, top);
    if (!name) return tn_fail_memory("a tensor's name");
    TN_TRY(tn_caffe_node(reader, layer->name, domain, op, attributes, input_count, inputs, 1, &name,
                         &value.tensor));
    return tn_caffe_set_value(reader, layer->top_names[top], &value);
}

tn_status tn_caffe_top_names(tn_caffe_reader *reader, const tn_caffe_layer *layer, uint32_t count,
                             const char **names, const char *part) {
    for (uint32_t i = 0; i < count; i++) {
        names[i] = top_name(reader, layer, i);
        if (!names[i]) return tn_fail_memory("a tensor's name");
    }
    if (!part) return TN_OK;
    names[count] = tn_arena_format(reader->arena, "%s/%s", layer->name, part);
    if (names[count]) names[count] = tn_caffe_make_name(reader, names[count]);
    return names[count] ? TN_OK : tn_fail_memory("a tensor's name");
}

tn_status tn_caffe_tops(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *domain,
                        const char *op, const tn_caffe_attributes *attributes, uint32_t input_count,
                        const tn_import_tensor *inputs, const tn_caffe_value *shapes) {
    uint32_t count = layer->top_count;
    const char **names = tn_arena_allocate(reader->arena, count, sizeof(*names));
    tn_import_tensor *outputs = tn_arena_allocate(reader->arena, count, sizeof(*outputs));
    if (!names || !outputs) return tn_fail_memory("a node");
    TN_TRY(tn_caffe_top_names(reader, layer, count, names, NULL));
    TN_TRY(tn_caffe_node(reader, layer->name, domain, op, attributes, input_count, inputs, count,
                         names, outputs));
    for (uint32_t i = 0; i < count; i++) {
        tn_caffe_value value = shapes[i];
        value.tensor = outputs[i];
        TN_TRY(tn_caffe_set_value(reader, layer->top_names[i], &value));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * constants */

static const char *constant_name(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                                 const char *part) {
    const char *name = tn_arena_format(reader->arena, "%s/%s", layer->name, part);
    return name ? tn_caffe_make_name(reader, name) : NULL;
}

tn_status tn_caffe_scalar(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                          double value, tn_import_tensor *out_tensor) {
    const char *name = constant_name(reader, layer, part);
    float element = (float)value;
    if (!name) return tn_fail_memory("a constant");
    return reader->import->services->add_constant(reader->graph, name, TN_F32, 0, NULL, &element,
                                                  sizeof(element), out_tensor);
}

tn_status tn_caffe_index_list(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                              const char *part, size_t count, const int64_t *values,
                              tn_import_tensor *out_tensor) {
    const char *name = constant_name(reader, layer, part);
    int64_t extent = (int64_t)count;
    if (!name) return tn_fail_memory("a constant");
    return reader->import->services->add_constant(reader->graph, name, TN_I64, 1, &extent, values,
                                                  count * sizeof(*values), out_tensor);
}

tn_status tn_caffe_floats(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                          uint32_t rank, const int64_t *extents, const float *data,
                          tn_import_tensor *out_tensor) {
    const char *name = constant_name(reader, layer, part);
    tn_shape shape;
    size_t count;
    if (!name) return tn_fail_memory("a constant");
    TN_TRY(tn_shape_set(&shape, rank, extents));
    TN_TRY(tn_shape_count(&shape, &count));
    return tn_import_add_constant(reader->graph, name, TN_F32, &shape, count > 0 ? data : NULL,
                                  count * sizeof(*data), out_tensor);
}

/* ----------------------------------------------------------------------------------------------
 * rows of operators */

void tn_caffe_chain_add(tn_caffe_chain *chain, const char *op, const char *part,
                        tn_import_tensor operand) {
    chain->links[chain->count++] = (tn_caffe_link){.op = op, .part = part, .operand = operand};
}

tn_status tn_caffe_chain_emit(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                              const tn_caffe_chain *chain, tn_import_tensor from,
                              const tn_caffe_value *shape) {
    if (chain->count == 0)
        return tn_caffe_top(reader, layer, 0, "", "Identity", NULL, 1, &from, shape);
    for (uint32_t i = 0; i < chain->count; i++) {
        const tn_caffe_link *link = &chain->links[i];
        uint32_t count = link->operand == TN_IMPORT_NO_TENSOR ? 1 : 2;
        tn_import_tensor inputs[2] = {from, link->operand};
        if (link->is_first) {
            inputs[0] = link->operand;
            inputs[1] = from;
        }
        if (i + 1 == chain->count)
            return tn_caffe_top(reader, layer, 0, "", link->op, NULL, count, inputs, shape);
        TN_TRY(tn_caffe_inner(reader, layer, link->part, "", link->op, NULL, count, inputs, &from));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * axes and extents */

tn_status tn_caffe_require_rank(const tn_caffe_value *value) {
    if (value->rank != UINT32_MAX) return TN_OK;
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "this layer needs the rank of its bottom, which is not known after a plugin's "
                   "layer");
}

tn_status tn_caffe_axis(const tn_caffe_value *value, const char *field, int64_t axis,
                        uint32_t *out_axis) {
    if (value->rank == UINT32_MAX && axis >= 0 && axis < TN_MAX_RANK) {
        *out_axis = (uint32_t)axis;
        return TN_OK;
    }
    TN_TRY(tn_caffe_require_rank(value));
    int64_t rank = (int64_t)value->rank;
    if (axis < -rank || axis >= rank)
        return tn_fail(TN_ERROR_RANGE,
                       "%s is %" PRId64 "; the bottom has rank %" PRIu32
                       ", so it goes from %" PRId64 " to %" PRId64,
                       field, axis, value->rank, -rank, rank - 1);
    *out_axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return TN_OK;
}

int64_t tn_caffe_multiply(int64_t a, int64_t b) {
    int64_t product;
    return a < 0 || b < 0 || !tn_mul_i64(a, b, &product) ? -1 : product;
}

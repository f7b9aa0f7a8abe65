/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of attributes: whatever a caller or a parser gave, checked for sense and put into the
 * graph's arena, so that a node can be saved and made again. What an attribute means is the field
 * table's business (plugin/fields/fields.h).
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/graph_private.h"

#include <inttypes.h>
#include <string.h>

/* An attribute from a binary of another version: what lies inside its size, the rest zero. */
static tn_attribute read_sized(const tn_attribute *from) {
    tn_attribute attribute = {0};
    size_t bytes = from->size < sizeof(attribute) ? from->size : sizeof(attribute);
    memcpy(&attribute, from, bytes);
    attribute.size = sizeof(attribute);
    return attribute;
}

static tn_status copy_items(tn_graph *graph, tn_attribute *attribute, size_t item_bytes) {
    size_t bytes;
    if (!tn_mul_size((size_t)attribute->count, item_bytes, &bytes))
        return tn_fail_memory("an attribute's list");
    if (bytes > 0 && !attribute->items)
        return tn_fail(TN_ERROR_ARGUMENT, "the list has %" PRIu64 " items but no data",
                       attribute->count);
    attribute->items = bytes > 0 ? tn_arena_copy(graph->arena, attribute->items, bytes)
                                 : tn_arena_allocate(graph->arena, 1, 1);
    return attribute->items ? TN_OK : tn_fail_memory("an attribute's list");
}

static tn_status copy_strings(tn_graph *graph, tn_attribute *attribute) {
    TN_TRY(copy_items(graph, attribute, sizeof(char *)));
    if (attribute->count == 0) return TN_OK;
    const char *const *from = attribute->items;
    const char **to = tn_arena_allocate(graph->arena, (size_t)attribute->count, sizeof(*to));
    if (!to) return tn_fail_memory("an attribute's list");
    for (uint64_t i = 0; i < attribute->count; i++) {
        if (!from[i]) return tn_fail(TN_ERROR_ARGUMENT, "string %" PRIu64 " is null", i);
        to[i] = tn_arena_text(graph->arena, from[i]);
        if (!to[i]) return tn_fail_memory("an attribute's string");
    }
    attribute->items = to;
    return TN_OK;
}

static tn_status copy_tensor(tn_graph *graph, tn_attribute *attribute, bool copy_data) {
    const tn_tensor *from = attribute->tensor;
    if (!from) return tn_fail(TN_ERROR_ARGUMENT, "the tensor is null");
    if (from->format != TN_LINEAR || !tn_type_is_valid(from->type))
        return tn_fail(TN_ERROR_ARGUMENT, "a tensor in an attribute has a known type, linear");
    if (from->rank > 0 && !from->shape)
        return tn_fail(TN_ERROR_ARGUMENT, "the tensor has no shape");
    if (from->type == TN_STRING)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a tensor of strings is no attribute: a list of strings may be one");
    tn_shape shape;
    TN_TRY(tn_shape_set(&shape, from->rank, from->shape));
    tn_tensor_storage *to = tn_arena_allocate(graph->arena, 1, sizeof(*to));
    if (!to) return tn_fail_memory("an attribute's tensor");
    TN_TRY(tn_tensor_init(to, from->type, TN_LINEAR, &shape));
    to->tensor.name = "";
    if (to->tensor.bytes > 0 && !from->data)
        return tn_fail(TN_ERROR_ARGUMENT, "the tensor has no data");
    to->tensor.data = from->data;
    if (copy_data || to->tensor.bytes == 0) {
        to->tensor.data = tn_graph_allocate_data(graph, (size_t)to->tensor.bytes);
        if (!to->tensor.data) return tn_fail_memory("an attribute's tensor");
        if (to->tensor.bytes > 0) memcpy(to->tensor.data, from->data, (size_t)to->tensor.bytes);
    }
    attribute->tensor = &to->tensor;
    return TN_OK;
}

/* A graph's own body stays; one of a graph that outlives this one is copied. */
static tn_status copy_body(tn_graph *graph, tn_attribute *attribute, bool is_given) {
    const tn_body_graph *body = NULL;
    if (attribute->graph && tn_graph_has_body(graph, attribute->graph)) return TN_OK;
    if (is_given || !attribute->graph)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the body was not added to this graph: expected tn_graph_add_body");
    TN_TRY(tn_graph_copy_body(graph, attribute->graph, &body));
    attribute->graph = body;
    return TN_OK;
}

static tn_status copy_value(tn_graph *graph, tn_attribute *attribute, bool copy_tensors) {
    switch (attribute->type) {
    case TN_FIELD_BOOL:
    case TN_FIELD_I32:
    case TN_FIELD_I64:
    case TN_FIELD_F32:
    case TN_FIELD_F64:
    case TN_FIELD_TYPE:
    case TN_FIELD_ENUM:
        return TN_OK;
    case TN_FIELD_STRING:
        if (!attribute->s) return tn_fail(TN_ERROR_ARGUMENT, "the string is null");
        attribute->s = tn_arena_text(graph->arena, attribute->s);
        return attribute->s ? TN_OK : tn_fail_memory("an attribute's string");
    case TN_FIELD_I64S:
        return copy_items(graph, attribute, sizeof(int64_t));
    case TN_FIELD_F32S:
        return copy_items(graph, attribute, sizeof(float));
    case TN_FIELD_F64S:
        return copy_items(graph, attribute, sizeof(double));
    case TN_FIELD_STRINGS:
        return copy_strings(graph, attribute);
    case 0:
    case TN_FIELD_BYTES:
        return copy_items(graph, attribute, 1);
    case TN_FIELD_TENSOR:
        return copy_tensor(graph, attribute, copy_tensors);
    case TN_FIELD_GRAPH:
        return copy_body(graph, attribute, copy_tensors);
    default:
        return tn_fail(TN_ERROR_ARGUMENT, "attribute type %" PRIu32 " is not known",
                       attribute->type);
    }
}

tn_status tn_graph_copy_attributes(tn_graph *graph, uint64_t count,
                                   const tn_attribute *const *attributes, bool copy_tensors,
                                   const tn_attribute *const **out_attributes) {
    if (count > 0 && !attributes)
        return tn_fail(TN_ERROR_ARGUMENT, "%" PRIu64 " attributes, but the list is null", count);
    const tn_attribute **copies = tn_arena_allocate(graph->arena, (size_t)count, sizeof(*copies));
    if (!copies) return tn_fail_memory("a node's attributes");
    for (uint64_t i = 0; i < count; i++) {
        if (!attributes[i] || attributes[i]->size < offsetof(tn_attribute, i))
            return tn_fail(TN_ERROR_ARGUMENT, "attribute %" PRIu64 " is null or has no size", i);
        tn_attribute value = read_sized(attributes[i]);
        if (!value.name) return tn_fail(TN_ERROR_ARGUMENT, "attribute %" PRIu64 " has no name", i);
        tn_status status = copy_value(graph, &value, copy_tensors);
        if (status != TN_OK) return tn_error_at(status, "attribute '%s'", value.name);
        value.name = tn_arena_text(graph->arena, value.name);
        if (!value.name) return tn_fail_memory("an attribute's name");
        copies[i] = tn_arena_copy(graph->arena, &value, sizeof(value));
        if (!copies[i]) return tn_fail_memory("a node's attributes");
    }
    *out_attributes = copies;
    return TN_OK;
}

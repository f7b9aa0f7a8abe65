/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in attributes: read as the model's graph is, into a graph that the node's graph owns. A
 * name that neither the body nor a node in it defines is one of the graph around it: constants are
 * shared, other tensors are captured and become inputs, level by level.
 */
#include "base/status.h"
#include "graph/body.h"
#include "importers/onnx/onnx.h"

#include <string.h>

static tn_status fail_type(const Tenon__Onnx__TypeProto *type) {
    if (type && type->tensor_type) {
        const int32_t number = type->tensor_type->elem_type;
        if (number == 0) return TN_OK;
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "tensors of ONNX's element type %d (%s) are not supported", (int)number,
                       tn_onnx_type_name(number));
    }
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "sequences, optionals and maps are not supported as inputs of bodies");
}

/* Where the body declares no type it has that of what the node supplies; shapes are always those.
 */
static tn_status add_input(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                           const tn_onnx_value_info *info) {
    tn_type type = TN_NONE;
    tn_tensor_id id;
    if (!info->name || !*info->name) return tn_fail(TN_ERROR_FORMAT, "an input has no name");
    if (tn_map_get(scope->tensors, info->name, &(uint64_t){0}))
        return tn_fail(TN_ERROR_FORMAT, "the name is there twice");
    if (info->type && info->type->tensor_type)
        type = tn_onnx_type(info->type->tensor_type->elem_type);
    if (type == TN_NONE && info->type) TN_TRY(fail_type(info->type));
    TN_TRY(tn_graph_add_body_input(reader->graph, info->name, type, &id));
    return tn_map_set(scope->tensors, info->name, id);
}

static tn_status read_inputs(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                             const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        TN_TRY(
            tn_error_at(add_input(reader, scope, graph->input[i]), "input '%s'", name ? name : ""));
    }
    return TN_OK;
}

/* The body's own names, before any node asks for one: they hide those of the graph around it. */
static tn_status define_names(tn_onnx_reader *reader, tn_onnx_scope *scope,
                              const tn_onnx_graph *graph) {
    tn_tensor_id id;
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_output; i++)
            TN_TRY(tn_onnx_scope_define(reader, scope, graph->node[n]->output[i], &id));
    return TN_OK;
}

static tn_status read_outputs(tn_onnx_reader *reader, tn_onnx_scope *scope,
                              const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name;
        tn_tensor_id id;
        if (!name || !*name) return tn_fail(TN_ERROR_FORMAT, "output %zu has no name", i);
        TN_TRY(tn_onnx_scope_tensor(reader, scope, name, &id));
        TN_TRY(tn_graph_add_output(reader->graph, id, name));
    }
    return TN_OK;
}

static tn_status read_graph(tn_onnx_reader *reader, tn_onnx_scope *scope,
                            const tn_onnx_graph *graph) {
    for (size_t i = 0; i < reader->model->n_opset_import; i++)
        TN_TRY(tn_graph_set_opset(reader->graph, reader->model->opset_import[i]->domain,
                                  (uint32_t)reader->model->opset_import[i]->version));
    TN_TRY(read_inputs(reader, scope, graph));
    TN_TRY(tn_onnx_initializers_read(reader, scope, graph));
    TN_TRY(define_names(reader, scope, graph));
    TN_TRY(tn_onnx_nodes_read(reader, scope, graph->n_node, graph->node));
    TN_TRY(read_outputs(reader, scope, graph));
    return reader->missing.count > 0 ? TN_OK : tn_graph_sort(reader->graph);
}

/* An input that the body gets from the graph around it, or that graph's constant. */
static tn_status capture(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                         tn_tensor_id outer, tn_tensor_id *out_tensor) {
    const tn_graph_tensor *tensor = &scope->parent->graph->tensors[outer];
    const char *own = tensor->name;
    if (tn_map_get(reader->graph->names, own, &(uint64_t){0}))
        own = tn_graph_make_name(reader->graph, own);
    if (!own) return tn_fail_memory("a tensor's name");
    if (tensor->is_constant) {
        TN_TRY(tn_graph_add_constant_lent(reader->graph, own, tensor->type, &tensor->shape,
                                          tensor->data, tensor->bytes, out_tensor));
    } else {
        TN_TRY(tn_grow(reader->allocator, (void **)&scope->captured, &scope->captured_capacity,
                       scope->captured_count + 1, sizeof(*scope->captured)));
        TN_TRY(tn_graph_add_body_input(reader->graph, own, tensor->type, out_tensor));
        scope->captured[scope->captured_count++] = outer;
    }
    return tn_map_set(scope->tensors, name, *out_tensor);
}

tn_status tn_onnx_scope_capture(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                                tn_tensor_id *out_tensor) {
    tn_graph *graph = reader->graph;
    tn_tensor_id outer = TN_NO_TENSOR;
    reader->graph = scope->parent->graph;
    tn_status status = tn_onnx_scope_tensor(reader, scope->parent, name, &outer);
    reader->graph = graph;
    TN_TRY(status);
    if (outer == TN_NO_TENSOR) /* an input that the call of a function leaves out */
        return tn_fail(TN_ERROR_FORMAT, "tensor '%s' is absent around the body", name);
    return capture(reader, scope, name, outer, out_tensor);
}

static tn_status keep(tn_onnx_reader *reader, const tn_onnx_scope *scope, tn_graph *outer,
                      tn_attribute *to) {
    tn_graph_body *body;
    tn_tensor_id *ids =
        tn_arena_copy(reader->arena, scope->captured, scope->captured_count * sizeof(*ids));
    if (!ids && scope->captured_count > 0) return tn_fail_memory("a body");
    TN_TRY(tn_graph_own_body(outer, reader->graph, (uint32_t)scope->captured_count, &body));
    body->outer = ids;
    to->type = TN_FIELD_GRAPH;
    to->graph = &body->view;
    return TN_OK;
}

tn_status tn_onnx_body_read(tn_onnx_reader *reader, tn_onnx_scope *parent,
                            const tn_onnx_graph *graph, tn_attribute *to) {
    const char *name = graph->name ? graph->name : "";
    tn_onnx_scope scope = {.parent = parent,
                           .function = parent->function,
                           .binding_count = parent->binding_count,
                           .bindings = parent->bindings,
                           .prefix = "",
                           .depth = parent->depth + 1,
                           .body_depth = parent->body_depth + 1,
                           .is_body = true};
    tn_graph *outer = reader->graph;
    if (scope.body_depth > TN_BODY_DEPTH)
        return tn_fail(TN_ERROR_FORMAT, "bodies are nested more than %u levels deep",
                       TN_BODY_DEPTH);
    TN_TRY(tn_map_create(reader->allocator, &scope.tensors));
    tn_status status = tn_graph_create(reader->runtime, name, &reader->graph);
    scope.graph = status == TN_OK ? reader->graph : NULL;
    if (status == TN_OK) status = read_graph(reader, &scope, graph);
    if (status == TN_OK) status = keep(reader, &scope, outer, to);
    if (status != TN_OK) tn_graph_destroy(scope.graph);
    reader->graph = outer;
    tn_deallocate(reader->allocator, scope.captured);
    tn_map_destroy(scope.tensors);
    return tn_error_at(status, "body '%s'", name);
}

/* What was read for a field; null: no body. */
static const tn_graph_body *find_body(const tn_field *field, uint64_t count,
                                      const tn_attribute *const *attributes) {
    for (uint64_t i = 0; i < count; i++)
        if (attributes[i]->type == TN_FIELD_GRAPH && strcmp(attributes[i]->name, field->name) == 0)
            return tn_graph_body_of(attributes[i]->graph);
    return NULL;
}

/* What the bodies of a node captured goes behind the node's own inputs, in the order of fields. */
tn_status tn_onnx_captures_append(tn_onnx_reader *reader, const tn_operator *op, uint64_t count,
                                  const tn_attribute *const *attributes, tn_tensor_id **inout_ids,
                                  uint32_t *inout_count) {
    size_t total = 0, at = *inout_count;
    for (uint32_t f = 0; f < op->field_count; f++) {
        const tn_graph_body *body = find_body(tn_fields_at(op, f), count, attributes);
        if (body) total += body->view.capture_count;
    }
    if (total == 0) return TN_OK;
    if (op->input_count > 0 && at + 1 < op->input_count) at = op->input_count - 1;
    if (at + total >= UINT16_MAX)
        return tn_fail(TN_ERROR_FORMAT, "its bodies capture %zu tensors", total);
    tn_tensor_id *ids = tn_arena_allocate(reader->arena, at + total, sizeof(*ids));
    if (!ids) return tn_fail_memory("a node");
    for (size_t i = 0; i < at; i++)
        ids[i] = i < *inout_count ? (*inout_ids)[i] : TN_NO_TENSOR;
    for (uint32_t f = 0; f < op->field_count; f++) {
        const tn_graph_body *body = find_body(tn_fields_at(op, f), count, attributes);
        for (uint32_t k = 0; body && k < body->view.capture_count; k++)
            ids[at++] = body->outer[k];
    }
    *inout_ids = ids;
    *inout_count = (uint32_t)at;
    return TN_OK;
}

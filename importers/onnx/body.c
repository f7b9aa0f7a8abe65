/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in attributes: read as the model's graph is, into a graph that the node's graph owns. A
 * name that neither the body nor a node in it defines is one of the graph around it: constants are
 * shared, other tensors are captured and become inputs, level by level.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <tenon/plugin/body.h>
#include <tenon/plugin/sequence.h>

#include <string.h>

static tn_status add_kind_input(tn_onnx_reader *reader, const tn_onnx_value_info *info,
                                tn_import_tensor *out_tensor) {
    tn_onnx_value_type type;
    TN_TRY(tn_onnx_value_type_read(info->type, &type));
    return reader->import->services->add_kind_input(reader->graph, info->name, type.kind,
                                                    type.key_type, type.type, out_tensor);
}

/* Where the body declares no type it has that of what the node supplies; shapes are always those.
 */
static tn_status add_input(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                           const tn_onnx_value_info *info) {
    tn_type type = TN_NONE;
    tn_import_tensor id;
    if (!info->name || !*info->name) return tn_fail(TN_ERROR_FORMAT, "an input has no name");
    if (tn_map_get(scope->tensors, info->name, &(uint64_t){0}))
        return tn_fail(TN_ERROR_FORMAT, "the name is there twice");
    if (info->type && !info->type->tensor_type) {
        TN_TRY(add_kind_input(reader, info, &id));
        return tn_map_set(scope->tensors, info->name, id);
    }
    if (info->type) type = tn_onnx_type(info->type->tensor_type->elem_type);
    if (info->type && type == TN_NONE && info->type->tensor_type->elem_type != 0)
        return tn_onnx_fail_type(info->type->tensor_type->elem_type);
    TN_TRY(tn_import_add_input(reader->graph, info->name, type, UINT32_MAX, NULL, NULL, &id));
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
    tn_import_tensor id;
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_output; i++)
            TN_TRY(tn_onnx_scope_define(reader, scope, graph->node[n]->output[i], &id));
    return TN_OK;
}

/* A body may return a tensor several times: what is carried is stacked as well. Null: no memory. */
static const char *output_name(tn_onnx_reader *reader, const tn_onnx_graph *graph, size_t index) {
    const char *name = graph->output[index]->name;
    size_t same = 0;
    for (size_t i = 0; i < index && i < TN_BODY_MAX_PORTS; i++)
        same += strcmp(graph->output[i]->name, name) == 0;
    return same > 0 ? tn_arena_format(reader->arena, "%s:%zu", name, same) : name;
}

static tn_status read_outputs(tn_onnx_reader *reader, tn_onnx_scope *scope,
                              const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name;
        tn_import_tensor id;
        if (!name || !*name) return tn_fail(TN_ERROR_FORMAT, "output %zu has no name", i);
        TN_TRY(tn_onnx_scope_tensor(reader, scope, name, &id));
        if (id == TN_IMPORT_NO_TENSOR)
            return tn_fail(TN_ERROR_FORMAT,
                           "output '%s' is an input of the function around it that the call leaves "
                           "out",
                           name);
        name = output_name(reader, graph, i);
        if (!name) return tn_fail_memory("an output's name");
        TN_TRY(tn_import_add_output(reader->graph, id, name));
    }
    return TN_OK;
}

static tn_status read_graph(tn_onnx_reader *reader, tn_onnx_scope *scope,
                            const tn_onnx_graph *graph) {
    TN_TRY(tn_onnx_opsets_keep(reader));
    TN_TRY(read_inputs(reader, scope, graph));
    TN_TRY(tn_onnx_initializers_read(reader, scope, graph));
    TN_TRY(define_names(reader, scope, graph));
    TN_TRY(tn_onnx_nodes_read(reader, scope, graph->n_node, graph->node));
    return read_outputs(reader, scope, graph);
}

/* One that is no dense tensor. Its type is that of the items: of what nodes compute nobody knows it
 * before shapes are inferred. */
static tn_status capture_kind(tn_onnx_reader *reader, const char *name,
                              const tn_import_tensor_info *outer, tn_import_tensor *out_tensor) {
    if (outer->kind == TN_KIND_MAP || outer->kind == TN_KIND_MAPS)
        return tn_fail(TN_ERROR_UNSUPPORTED, "a body captures '%s', which is a map", outer->name);
    return reader->import->services->add_kind_input(reader->graph, name, outer->kind, TN_NONE,
                                                    outer->type, out_tensor);
}

/* An input that the body gets from the graph around it, or that graph's constant. */
static tn_status capture(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                         tn_import_tensor outer, tn_import_tensor *out_tensor) {
    const tn_import_tensor_info tensor = tn_import_tensor_at(scope->parent->graph, outer);
    const char *own = tn_import_free_name(reader->graph, tensor.name);
    if (!own) return tn_fail_memory("a tensor's name");
    if (tensor.flags & TN_IMPORT_IS_CONSTANT) {
        TN_TRY(reader->import->services->add_constant(reader->graph, own, tensor.type, tensor.rank,
                                                      tensor.extents, tensor.data, tensor.bytes,
                                                      out_tensor));
    } else {
        TN_TRY(tn_grow(reader->allocator, (void **)&scope->captured, &scope->captured_capacity,
                       scope->captured_count + 1, sizeof(*scope->captured)));
        TN_TRY(tensor.kind ? capture_kind(reader, own, &tensor, out_tensor)
                           : tn_import_add_input(reader->graph, own, tensor.type, UINT32_MAX, NULL,
                                                 NULL, out_tensor));
        scope->captured[scope->captured_count++] = outer;
    }
    return tn_map_set(scope->tensors, name, *out_tensor);
}

tn_status tn_onnx_scope_capture(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                                tn_import_tensor *out_tensor) {
    tn_import_graph *graph = reader->graph;
    tn_import_tensor outer = TN_IMPORT_NO_TENSOR;
    reader->graph = scope->parent->graph;
    tn_status status = tn_onnx_scope_tensor(reader, scope->parent, name, &outer);
    reader->graph = graph;
    TN_TRY(status);
    if (outer == TN_IMPORT_NO_TENSOR) { /* an input that the call of a function leaves out */
        *out_tensor = outer;
        return tn_map_set(scope->tensors, name, outer);
    }
    return capture(reader, scope, name, outer, out_tensor);
}

static tn_status keep(tn_onnx_reader *reader, const tn_onnx_scope *scope, tn_attribute *to) {
    TN_TRY(reader->import->services->end_body(reader->graph, (uint32_t)scope->captured_count,
                                              scope->captured, &to->graph));
    to->type = TN_FIELD_GRAPH;
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
                           .is_body = true};
    tn_import_graph *outer = reader->graph;
    TN_TRY(tn_map_create(reader->allocator, &scope.tensors));
    tn_status status = reader->import->services->begin_body(outer, name, &reader->graph);
    scope.graph = reader->graph;
    if (status == TN_OK) status = read_graph(reader, &scope, graph);
    if (status == TN_OK) status = keep(reader, &scope, to);
    reader->graph = outer;
    tn_deallocate(reader->allocator, scope.captured);
    tn_map_destroy(scope.tensors);
    return tn_error_at(status, "body '%s'", name);
}

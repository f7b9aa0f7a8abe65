/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's graph: its inputs (without those that are initializers, which older files list as
 * well), constants, nodes and outputs.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <string.h>

static tn_status add_kind_input(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                const tn_onnx_value_info *info) {
    tn_onnx_value_type type;
    tn_import_tensor id;
    TN_TRY(tn_onnx_value_type_read(info->type, &type));
    TN_TRY(reader->import->services->add_kind_input(reader->graph, info->name, type.kind,
                                                    type.key_type, type.type, &id));
    return tn_map_set(scope->tensors, info->name, id);
}

static tn_status add_input(tn_onnx_reader *reader, tn_onnx_scope *scope,
                           const tn_onnx_value_info *info) {
    int64_t extents[TN_MAX_RANK];
    const char *names[TN_MAX_RANK];
    if (!info->type || !info->type->tensor_type) return add_kind_input(reader, scope, info);
    const Tenon__Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
    tn_type type = tn_onnx_type(tensor->elem_type);
    if (type == TN_NONE) return tn_onnx_fail_type(tensor->elem_type);
    uint32_t rank = tensor->shape ? (uint32_t)tensor->shape->n_dim : UINT32_MAX;
    if (tensor->shape) TN_TRY(tn_onnx_extents_read(tensor->shape, extents, names));
    tn_import_tensor id;
    TN_TRY(tn_import_add_input(reader->graph, info->name, type, rank, extents, names, &id));
    return tn_map_set(scope->tensors, info->name, id);
}

/* Initializers come before inputs: an input of the same name is none. */
static tn_status check_initializer(const tn_onnx_scope *scope, const char *name) {
    if (!name || !*name) return tn_fail(TN_ERROR_FORMAT, "an initializer has no name");
    if (tn_map_get(scope->tensors, name, &(uint64_t){0}))
        return tn_fail(TN_ERROR_FORMAT, "the initializer is there twice");
    return TN_OK;
}

/* Its name is that of its values. */
static tn_status add_sparse(tn_onnx_reader *reader, tn_onnx_scope *scope,
                            const Tenon__Onnx__SparseTensorProto *sparse, const char *name) {
    tn_onnx_data data;
    TN_TRY(check_initializer(scope, name));
    TN_TRY(tn_onnx_sparse_read(reader, scope, sparse, &data));
    return tn_onnx_scope_constant(reader, scope, name, name, &data);
}

static tn_status add_initializer(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                 tn_onnx_tensor *tensor) {
    tn_onnx_data data;
    TN_TRY(check_initializer(scope, tensor->name));
    TN_TRY(tn_onnx_tensor_read(reader, scope, tensor, &data));
    return tn_onnx_scope_constant(reader, scope, tensor->name, tensor->name, &data);
}

tn_status tn_onnx_initializers_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                    const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const tn_onnx_tensor *values = graph->sparse_initializer[i]->values;
        const char *name = values && values->name ? values->name : "";
        TN_TRY(tn_error_at(add_sparse(reader, scope, graph->sparse_initializer[i], name),
                           "initializer '%s'", name));
    }
    for (size_t i = 0; i < graph->n_initializer; i++) {
        tn_onnx_tensor *tensor = graph->initializer[i];
        TN_TRY(tn_error_at(add_initializer(reader, scope, tensor), "initializer '%s'",
                           tensor->name ? tensor->name : ""));
    }
    return TN_OK;
}

static tn_status read_inputs(tn_onnx_reader *reader, tn_onnx_scope *scope,
                             const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const tn_onnx_value_info *info = graph->input[i];
        uint64_t known;
        tn_status status = TN_OK;
        if (!info->name || !*info->name)
            status = tn_fail(TN_ERROR_FORMAT, "input %zu has no name", i);
        else if (!tn_map_get(scope->tensors, info->name, &known))
            status = add_input(reader, scope, info);
        else if (!(tn_import_tensor_at(reader->graph, (tn_import_tensor)known).flags &
                   TN_IMPORT_IS_CONSTANT))
            status = tn_fail(TN_ERROR_FORMAT, "the input is there twice");
        TN_TRY(tn_error_at(status, "input '%s'", info->name ? info->name : ""));
    }
    return TN_OK;
}

static tn_status read_outputs(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name;
        uint64_t id;
        if (!name || !*name) return tn_fail(TN_ERROR_FORMAT, "output %zu has no name", i);
        if (!tn_map_get(scope->tensors, name, &id))
            return tn_fail(TN_ERROR_FORMAT, "output '%s' is made by no node", name);
        TN_TRY(tn_import_add_output(reader->graph, (tn_import_tensor)id, name));
        TN_TRY(tn_onnx_declare(reader, graph->output[i], (tn_import_tensor)id, true));
    }
    return TN_OK;
}

/* Of the tensors between the nodes; those that nobody makes are no matter. */
static tn_status read_declarations(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                                   const tn_onnx_graph *graph) {
    for (size_t i = 0; i < graph->n_value_info; i++) {
        const char *name = graph->value_info[i]->name;
        uint64_t id;
        if (name && tn_map_get(scope->tensors, name, &id) &&
            (tn_import_tensor)id != TN_IMPORT_NO_TENSOR)
            TN_TRY(tn_onnx_declare(reader, graph->value_info[i], (tn_import_tensor)id, false));
    }
    return TN_OK;
}

static tn_status read_all(tn_onnx_reader *reader, tn_onnx_scope *scope,
                          const tn_onnx_graph *graph) {
    TN_TRY(tn_onnx_initializers_read(reader, scope, graph));
    TN_TRY(read_inputs(reader, scope, graph));
    TN_TRY(tn_onnx_nodes_read(reader, scope, graph->n_node, graph->node));
    TN_TRY(reader->import->services->report_missing(reader->import));
    TN_TRY(read_outputs(reader, scope, graph));
    TN_TRY(read_declarations(reader, scope, graph));
    return reader->import->services->check(reader->graph);
}

tn_status tn_onnx_model_graph_read(tn_onnx_reader *reader) {
    const tn_onnx_graph *graph = reader->model->graph;
    tn_onnx_scope scope = {.prefix = "", .graph = reader->graph};
    TN_TRY(tn_map_create(reader->allocator, &scope.tensors));
    tn_status status = read_all(reader, &scope, graph);
    tn_map_destroy(scope.tensors);
    return tn_error_at(status, "graph '%s'", graph->name ? graph->name : "");
}

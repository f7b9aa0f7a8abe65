/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of a model, in the graph or in a function's body: names become tensors, the operator comes
 * from the registry by the domain's opset, and what nothing serves is noted for one report.
 */
#include "base/status.h"
#include "importers/onnx/contributed.h"
#include "importers/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

const char *tn_onnx_node_name(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              const tn_onnx_node *node) {
    if (node->name && *node->name)
        return tn_arena_format(reader->arena, "%s%s", scope->prefix, node->name);
    return tn_arena_format(reader->arena, "%s%s_%zu", scope->prefix,
                           node->op_type ? node->op_type : "",
                           (size_t)reader->import->services->node_count(reader->graph));
}

/* A tensor that nobody has made yet; its name in the graph gives way to one that is there. */
static tn_status make_tensor(tn_onnx_reader *reader, const tn_onnx_scope *scope, const char *name,
                             tn_import_tensor *out_tensor) {
    const char *full = tn_arena_format(reader->arena, "%s%s", scope->prefix, name);
    full = tn_import_free_name(reader->graph, full);
    if (!full) return tn_fail_memory("a tensor's name");
    return tn_import_add_tensor(reader->graph, full, out_tensor);
}

static tn_status find_or_make(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                              bool is_defined, tn_import_tensor *out_tensor) {
    uint64_t known;
    tn_import_tensor id = TN_IMPORT_NO_TENSOR;
    if (!name || !*name) {
        *out_tensor = TN_IMPORT_NO_TENSOR;
        return TN_OK;
    }
    if (tn_map_get(scope->tensors, name, &known)) {
        *out_tensor = (tn_import_tensor)known;
        return TN_OK;
    }
    if (scope->is_body && !is_defined)
        return tn_onnx_scope_capture(reader, scope, name, out_tensor);
    TN_TRY(make_tensor(reader, scope, name, &id));
    TN_TRY(tn_map_set(scope->tensors, name, id)); /* the message outlives the scope */
    *out_tensor = id;
    return TN_OK;
}

tn_status tn_onnx_scope_tensor(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                               tn_import_tensor *out_tensor) {
    return find_or_make(reader, scope, name, false, out_tensor);
}

tn_status tn_onnx_scope_define(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                               tn_import_tensor *out_tensor) {
    return find_or_make(reader, scope, name, true, out_tensor);
}

tn_status tn_onnx_scope_constant(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                                 const char *full, const tn_onnx_data *data) {
    tn_import_tensor id;
    TN_TRY(tn_import_add_constant(reader->graph, full, data->type, &data->shape, data->data,
                                  data->bytes, &id));
    return tn_map_set(scope->tensors, name, id);
}

/* The tensors of a list of names, without the empty ones at its end. */
static tn_status read_tensors(tn_onnx_reader *reader, tn_onnx_scope *scope, size_t count,
                              char *const *names, const tn_import_tensor **out_ids,
                              uint32_t *out_count) {
    while (count > 0 && !*names[count - 1])
        count--;
    if (count >= UINT32_MAX) return tn_fail_memory("a node");
    tn_import_tensor *ids = tn_arena_allocate(reader->arena, count, sizeof(*ids));
    if (!ids) return tn_fail_memory("a node");
    for (size_t i = 0; i < count; i++)
        TN_TRY(tn_onnx_scope_tensor(reader, scope, names[i], &ids[i]));
    *out_ids = ids;
    *out_count = (uint32_t)count;
    return TN_OK;
}

static tn_status add_node(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node,
                          const char *name, tn_onnx_found_operator *found) {
    tn_onnx_node_parts parts = {0};
    uint32_t output_count = 0;
    const tn_import_tensor *outputs = NULL, *made = NULL;
    tn_status status = tn_onnx_attributes_read(reader, scope, node, found->op, reader->arena,
                                               &parts.attribute_count, &parts.attributes);
    if (status == TN_OK)
        status = read_tensors(reader, scope, node->n_input, node->input, &parts.inputs,
                              &parts.input_count);
    if (status == TN_OK)
        status = read_tensors(reader, scope, node->n_output, node->output, &outputs, &output_count);
    if (status == TN_OK)
        status = tn_onnx_optional_outputs(reader, node, output_count, outputs, &made);
    if (status == TN_OK) status = tn_onnx_adapt(reader, found, name, &parts);
    if (status != TN_OK) {
        tn_error_in(status, .op = node->op_type);
        return tn_error_in(status, .node = name);
    }
    TN_TRY(tn_import_add_node(reader->graph, name, found->op, parts.attribute_count,
                              parts.attributes, parts.input_count, parts.inputs, output_count,
                              made));
    return tn_onnx_optional_get(reader, node, name, output_count, outputs, made);
}

/* A node of a contributed operator, as its formula. */
static tn_status add_formula(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node,
                             const char *name, tn_contributed_formula formula) {
    const tn_import_tensor *inputs = NULL, *outputs = NULL;
    tn_contributed made = {.emit = {.graph = reader->graph, .arena = reader->arena, .name = name},
                           .op = node->op_type};
    TN_TRY(tn_onnx_attributes_read(reader, scope, node, NULL, reader->arena, &made.attribute_count,
                                   &made.attributes));
    TN_TRY(read_tensors(reader, scope, node->n_input, node->input, &inputs, &made.input_count));
    TN_TRY(read_tensors(reader, scope, node->n_output, node->output, &outputs, &made.output_count));
    made.inputs = inputs;
    made.outputs = outputs;
    formula(&made);
    return made.emit.status;
}

static tn_status find_operator(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                               const tn_onnx_node *node, tn_onnx_found_operator *out_found) {
    const char *domain = tn_onnx_domain(node->domain);
    uint32_t version;
    TN_TRY(tn_onnx_opset_version(reader, scope, domain, &version));
    return tn_onnx_operator_find(reader, domain, node->op_type, version, out_found);
}

/* The last error, that an operator is missing, with the fields that the node has. Those that
 * Tenon cannot read are not what is missing, and left out. */
static tn_status describe_missing(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                  const tn_onnx_node *node) {
    uint64_t count = 0;
    const tn_attribute *const *attributes = NULL;
    const char *message;
    const tn_import_services *services = reader->import->services;
    services->last(reader->import, &message, NULL);
    message = tn_arena_text(reader->arena, message);
    if (!message) return tn_fail_memory("a message");
    const tn_status status =
        tn_onnx_attributes_read(reader, scope, node, NULL, reader->arena, &count, &attributes);
    if (status == TN_ERROR_MEMORY) return status;
    (void)tn_fail(TN_ERROR_UNSUPPORTED, "%s", message);
    return services->describe_missing(reader->import, node->op_type, status == TN_OK ? count : 0,
                                      attributes);
}

/* A node of an operator, or a note that there is none. */
static tn_status read_operator_node(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                    const tn_onnx_node *node, const char *name) {
    const char *key =
        tn_arena_format(reader->arena, "%s\n%s", tn_onnx_domain(node->domain), node->op_type);
    if (!key) return tn_fail_memory("a node");
    const tn_import_services *services = reader->import->services;
    if (services->is_missing(reader->import, key)) return TN_OK;
    tn_onnx_found_operator found;
    tn_status status = find_operator(reader, scope, node, &found);
    const tn_contributed_formula formula =
        status == TN_ERROR_UNSUPPORTED
            ? tn_contributed_find(tn_onnx_domain(node->domain), node->op_type)
            : NULL;
    if (status == TN_OK || formula) {
        if (formula) services->forget(reader->import);
        status = formula ? add_formula(reader, scope, node, name, formula)
                         : add_node(reader, scope, node, name, &found);
        if (status == TN_OK) return TN_OK;
        /* a feature of this node: others of the operator may be served */
        key = tn_arena_format(reader->arena, "%s\n%s", key, tn_last_error()->message);
        if (!key) return tn_fail_memory("a node");
        if (status == TN_ERROR_UNSUPPORTED && services->is_missing(reader->import, key))
            return TN_OK;
    } else {
        if (status == TN_ERROR_UNSUPPORTED) status = describe_missing(reader, scope, node);
        if (status != TN_ERROR_UNSUPPORTED) return tn_error_in(status, .node = name);
    }
    return status == TN_ERROR_UNSUPPORTED ? services->add_missing(reader->import, key, name)
                                          : status;
}

static tn_status read_loop_or_node(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                   const tn_onnx_node *node, const char *name) {
    tn_onnx_node **behind = NULL;
    size_t count = 0;
    TN_TRY(
        tn_error_in(tn_onnx_loop_invariants(reader, node, &node, &count, &behind), .node = name));
    TN_TRY(tn_error_in(tn_onnx_loop_count(reader, scope, name, node, &node), .node = name));
    TN_TRY(read_operator_node(reader, scope, node, name));
    return count > 0 ? tn_onnx_nodes_read(reader, scope, count, behind) : TN_OK;
}

static tn_status read_node(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node) {
    const char *name = tn_onnx_node_name(reader, scope, node);
    if (!name) return tn_fail_memory("a node's name");
    if (reader->nodes_left-- == 0) {
        reader->nodes_left = 0;
        return tn_error_in(
            tn_fail(TN_ERROR_FORMAT, "the functions of this model expand to too many nodes"),
            .node = name);
    }
    if (!node->op_type || !*node->op_type)
        return tn_error_in(tn_fail(TN_ERROR_FORMAT, "the node names no operator"), .node = name);
    const tn_onnx_function *function;
    TN_TRY(tn_onnx_function_find(reader, node, &function));
    if (function) return tn_onnx_function_expand(reader, scope, node, function);
    bool is_done;
    TN_TRY(tn_error_in(tn_onnx_constant_strings_read(reader, scope, node, &is_done), .node = name));
    if (!is_done) TN_TRY(tn_onnx_zip_map_read(reader, scope, node, name, &is_done));
    if (!is_done)
        TN_TRY(tn_error_in(tn_onnx_hand_on(reader, scope, node, name, &is_done), .node = name));
    return is_done ? TN_OK : read_loop_or_node(reader, scope, node, name);
}

tn_status tn_onnx_nodes_read(tn_onnx_reader *reader, tn_onnx_scope *scope, size_t count,
                             tn_onnx_node *const *nodes) {
    for (size_t i = 0; i < count; i++)
        TN_TRY(read_node(reader, scope, nodes[i]));
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a model defines itself: where a node calls one, its body replaces the node.
 * Inputs and outputs of the call are the body's tensors, other names get the call's name before
 * them. A model's own function goes before a registered operator of the same name: the file says
 * what it means.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <string.h>

#define DEPTH_AT_MOST 64

static const char *function_key(tn_onnx_reader *reader, const char *domain, const char *name,
                                const char *overload) {
    return tn_arena_format(reader->arena, "%s\n%s\n%s", tn_onnx_domain(domain), name ? name : "",
                           overload ? overload : "");
}

tn_status tn_onnx_functions_index(tn_onnx_reader *reader) {
    for (size_t i = 0; i < reader->model->n_functions; i++) {
        const tn_onnx_function *function = reader->model->functions[i];
        const char *name = function->name ? function->name : "";
        const char *key = function_key(reader, function->domain, name, function->overload);
        if (!key) return tn_fail_memory("a function");
        if (tn_map_get(reader->functions, key, &(uint64_t){0}))
            return tn_fail(TN_ERROR_FORMAT, "function '%s' is defined twice", name);
        TN_TRY(tn_map_set(reader->functions, key, i));
        TN_TRY(tn_error_at(tn_onnx_opsets_check(function->n_opset_import, function->opset_import),
                           "function '%s'", name));
    }
    return TN_OK;
}

tn_status tn_onnx_function_find(tn_onnx_reader *reader, const tn_onnx_node *node,
                                const tn_onnx_function **out_function) {
    uint64_t index;
    *out_function = NULL;
    if (reader->model->n_functions == 0) return TN_OK;
    const char *key = function_key(reader, node->domain, node->op_type, node->overload);
    if (!key) return tn_fail_memory("a function");
    if (tn_map_get(reader->functions, key, &index)) *out_function = reader->model->functions[index];
    return TN_OK;
}

/* The call's attributes first, so that they hide the function's defaults. */
static tn_status bind_attributes(tn_onnx_reader *reader, const tn_onnx_scope *caller,
                                 const tn_onnx_node *call, tn_onnx_scope *scope) {
    const tn_onnx_function *function = scope->function;
    size_t count = call->n_attribute + function->n_attribute_proto;
    tn_onnx_binding *bindings = tn_arena_allocate(reader->arena, count, sizeof(*bindings));
    if (!bindings) return tn_fail_memory("a function's attributes");
    scope->bindings = bindings;
    for (size_t i = 0; i < call->n_attribute; i++) {
        tn_onnx_binding *binding = &bindings[scope->binding_count];
        TN_TRY(tn_onnx_attribute_resolve(caller, call->attribute[i], binding));
        if (binding->value) scope->binding_count++;
    }
    for (size_t i = 0; i < function->n_attribute_proto; i++) {
        tn_onnx_attribute *value = function->attribute_proto[i];
        bindings[scope->binding_count++] =
            (tn_onnx_binding){.name = value->name ? value->name : "", .value = value};
    }
    return TN_OK;
}

static tn_status bind_inputs(tn_onnx_reader *reader, tn_onnx_scope *caller,
                             const tn_onnx_node *call, tn_onnx_scope *scope) {
    const tn_onnx_function *function = scope->function;
    if (call->n_input > function->n_input)
        return tn_fail(TN_ERROR_FORMAT, "function '%s' takes %zu inputs, but %zu were given",
                       function->name, function->n_input, call->n_input);
    for (size_t i = 0; i < function->n_input; i++) {
        tn_import_tensor id = TN_IMPORT_NO_TENSOR;
        if (i < call->n_input) TN_TRY(tn_onnx_scope_tensor(reader, caller, call->input[i], &id));
        TN_TRY(tn_map_set(scope->tensors, function->input[i], id));
    }
    return TN_OK;
}

/* The body makes the call's own tensors. An output that is a name bound before (an input handed
 * through, or an output named twice) becomes another name of that tensor. */
static tn_status bind_outputs(tn_onnx_reader *reader, tn_onnx_scope *caller,
                              const tn_onnx_node *call, tn_onnx_scope *scope) {
    const tn_onnx_function *function = scope->function;
    if (call->n_output > function->n_output)
        return tn_fail(TN_ERROR_FORMAT, "function '%s' gives %zu outputs, but %zu were named",
                       function->name, function->n_output, call->n_output);
    for (size_t i = 0; i < call->n_output; i++) {
        uint64_t id;
        tn_import_tensor made;
        const char *name = call->output[i];
        if (!*name) continue;
        if (tn_map_get(scope->tensors, function->output[i], &id)) {
            uint64_t known; /* a body's names are there before its nodes are read */
            if (tn_map_get(caller->tensors, name, &known) &&
                !(caller->is_body &&
                  tn_import_tensor_at(caller->graph, (tn_import_tensor)known).use_count == 0))
                return tn_fail(TN_ERROR_FORMAT,
                               "tensor '%s' is used before function '%s' hands it through", name,
                               function->name);
            TN_TRY(tn_map_set(caller->tensors, name, id));
            continue;
        }
        TN_TRY(tn_onnx_scope_tensor(reader, caller, name, &made));
        TN_TRY(tn_map_set(scope->tensors, function->output[i], made));
    }
    return TN_OK;
}

static tn_status check_nesting(const tn_onnx_scope *caller, const tn_onnx_function *function) {
    for (const tn_onnx_scope *scope = caller; scope; scope = scope->parent)
        if (scope->function == function)
            return tn_fail(TN_ERROR_FORMAT, "function '%s' calls itself", function->name);
    if (caller->depth + 1 > DEPTH_AT_MOST)
        return tn_fail(TN_ERROR_FORMAT, "functions call each other more than %d levels deep",
                       DEPTH_AT_MOST);
    return TN_OK;
}

static tn_status expand(tn_onnx_reader *reader, tn_onnx_scope *caller, const tn_onnx_node *call,
                        tn_onnx_scope *scope) {
    TN_TRY(bind_attributes(reader, caller, call, scope));
    TN_TRY(bind_inputs(reader, caller, call, scope));
    TN_TRY(bind_outputs(reader, caller, call, scope));
    return tn_onnx_nodes_read(reader, scope, scope->function->n_node, scope->function->node);
}

tn_status tn_onnx_function_expand(tn_onnx_reader *reader, tn_onnx_scope *caller,
                                  const tn_onnx_node *call, const tn_onnx_function *function) {
    const char *name = tn_onnx_node_name(reader, caller, call);
    tn_onnx_scope scope = {
        .parent = caller, .graph = reader->graph, .function = function, .depth = caller->depth + 1};
    tn_status status = check_nesting(caller, function);
    scope.prefix = name ? tn_arena_format(reader->arena, "%s/", name) : NULL;
    if (!scope.prefix) return tn_fail_memory("a function");
    if (status == TN_OK) status = tn_map_create(reader->allocator, &scope.tensors);
    if (status == TN_OK) status = expand(reader, caller, call, &scope);
    tn_map_destroy(scope.tensors);
    return tn_error_at(status, "function '%s' at node '%s'", function->name, name);
}

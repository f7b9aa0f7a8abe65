/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes whose operator depends on the kind of value that they read. Some hand a value on as it is,
 * where their operators' ports do not take its kind: Identity of a sequence, an optional or a map,
 * and OptionalGetElement of what is no optional, which opset 18 allows. The output's name then
 * means the input. OptionalHasElement of those is true. Of sequences Optional, OptionalHasElement
 * and OptionalGetElement have operators of their own.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <tenon/plugin/sequence.h>

#include <string.h>

static tn_status add_true(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name) {
    static const bool yes = true;
    const tn_shape scalar = {0};
    const char *full = tn_arena_format(reader->arena, "%s%s", scope->prefix, name);
    tn_import_tensor id;
    full = tn_import_free_name(reader->graph, full);
    if (!full) return tn_fail_memory("a tensor's name");
    TN_TRY(tn_import_add_constant(reader->graph, full, TN_BOOL, &scalar, &yes, sizeof yes, &id));
    return tn_map_set(scope->tensors, name, id);
}

/* Whether it is an Optional of a sequence, that is there or, as its type says, is not. */
static bool is_of_sequence(const tn_onnx_node *node, uint32_t kind) {
    if (node->n_input > 0 && *node->input[0]) return kind == TN_KIND_SEQUENCE;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->tp && node->attribute[i]->tp->sequence_type) return true;
    return false;
}

/* The operator that a node of one of the three is, with sequences; null: as the file has it. */
static const char *find_of_sequences(const tn_onnx_node *node, uint32_t kind) {
    const bool is_optional = kind == TN_KIND_OPTIONAL_SEQUENCE;
    if (strcmp(node->op_type, "Optional") == 0)
        return is_of_sequence(node, kind) ? "OptionalSequence" : NULL;
    if (strcmp(node->op_type, "OptionalHasElement") == 0)
        return is_optional ? "OptionalHasSequence" : NULL;
    return strcmp(node->op_type, "OptionalGetElement") == 0 && is_optional ? "OptionalGetSequence"
                                                                           : NULL;
}

static tn_status add_of_sequences(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                  const tn_onnx_node *node, const char *name,
                                  tn_import_tensor input, const char *op_name) {
    const tn_operator *op;
    uint64_t count = 0;
    const tn_attribute *const *attributes = NULL;
    tn_import_tensor output;
    TN_TRY(reader->import->services->find_operator(reader->import, "Tenon", op_name, 1, &op));
    TN_TRY(tn_onnx_attributes_read(reader, scope, node, op, reader->arena, &count, &attributes));
    TN_TRY(tn_onnx_scope_tensor(reader, scope, node->output[0], &output));
    return tn_import_add_node(reader->graph, name, op, count, attributes,
                              input != TN_IMPORT_NO_TENSOR, &input, 1, &output);
}

/* Whether the value is handed on. */
static bool is_handed_on(const tn_onnx_node *node, uint32_t kind) {
    if (strcmp(node->op_type, "Identity") == 0) return kind != TN_KIND_DENSE;
    return strcmp(node->op_type, "OptionalGetElement") == 0 && kind != TN_KIND_OPTIONAL;
}

tn_status tn_onnx_hand_on(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node,
                          const char *name, bool *out_is_done) {
    tn_import_tensor input = TN_IMPORT_NO_TENSOR;
    uint32_t kind = TN_KIND_DENSE;
    *out_is_done = false;
    if (*tn_onnx_domain(node->domain) || node->n_input > 1 || node->n_output != 1 ||
        !*node->output[0] ||
        (strncmp(node->op_type, "Optional", 8) != 0 && strcmp(node->op_type, "Identity") != 0))
        return TN_OK;
    if (node->n_input > 0 && *node->input[0])
        TN_TRY(tn_onnx_scope_tensor(reader, scope, node->input[0], &input));
    if (input != TN_IMPORT_NO_TENSOR) kind = tn_import_tensor_at(reader->graph, input).kind;
    const char *op = find_of_sequences(node, kind);
    *out_is_done = true;
    if (op) return add_of_sequences(reader, scope, node, name, input, op);
    if (input != TN_IMPORT_NO_TENSOR && is_handed_on(node, kind))
        return tn_map_set(scope->tensors, node->output[0], input);
    if (input != TN_IMPORT_NO_TENSOR && strcmp(node->op_type, "OptionalHasElement") == 0 &&
        kind != TN_KIND_OPTIONAL)
        return add_true(reader, scope, node->output[0]);
    *out_is_done = false;
    return TN_OK;
}

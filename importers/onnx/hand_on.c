/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that hand a value on as it is, where it is of a kind that their operators' ports do not
 * take: Identity of a sequence or a map, and OptionalGetElement of what is no optional, which opset
 * 18 allows. The output's name then means the input. OptionalHasElement of those is true.
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

tn_status tn_onnx_hand_on(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node,
                          bool *out_is_done) {
    const bool is_identity = strcmp(node->op_type, "Identity") == 0;
    const bool is_get = strcmp(node->op_type, "OptionalGetElement") == 0;
    const bool is_has = strcmp(node->op_type, "OptionalHasElement") == 0;
    tn_import_tensor input = TN_IMPORT_NO_TENSOR;
    *out_is_done = false;
    if (*tn_onnx_domain(node->domain) || (!is_identity && !is_get && !is_has) ||
        node->n_input != 1 || !*node->input[0] || node->n_output != 1 || !*node->output[0])
        return TN_OK;
    TN_TRY(tn_onnx_scope_tensor(reader, scope, node->input[0], &input));
    if (input == TN_IMPORT_NO_TENSOR) return TN_OK;
    const uint32_t kind = tn_import_tensor_at(reader->graph, input).kind;
    if (is_identity ? kind == TN_KIND_DENSE : kind == TN_KIND_OPTIONAL) return TN_OK;
    *out_is_done = true;
    return is_has ? add_true(reader, scope, node->output[0])
                  : tn_map_set(scope->tensors, node->output[0], input);
}

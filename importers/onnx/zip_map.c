/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZipMap of ai.onnx.ml, with which converters end classifiers: a list of maps from labels to
 * scores. On request its input, the tensor of scores, replaces it.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <string.h>

static tn_status drop(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node,
                      const char *name) {
    const tn_import_services *services = reader->import->services;
    const tn_operator *identity;
    tn_import_tensor input, output;
    if (node->n_input != 1 || node->n_output != 1)
        return tn_error_in(tn_fail(TN_ERROR_FORMAT, "ZipMap has one input and one output"),
                           .node = name);
    const char *text = tn_arena_format(
        reader->arena,
        "node '%s': ZipMap is dropped: '%s' is the tensor of scores, no list of maps", name,
        node->output[0]);
    if (!text) return tn_fail_memory("a message");
    services->log(reader->import, TN_LOG_WARNING, text);
    TN_TRY(services->find_operator(reader->import, "", "Identity", 1, &identity));
    TN_TRY(tn_onnx_scope_tensor(reader, scope, node->input[0], &input));
    TN_TRY(tn_onnx_scope_tensor(reader, scope, node->output[0], &output));
    return tn_import_add_node(reader->graph, name, identity, 0, NULL, 1, &input, 1, &output);
}

tn_status tn_onnx_zip_map_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                               const tn_onnx_node *node, const char *name, bool *out_is_done) {
    const char *domain = tn_onnx_domain(node->domain);
    *out_is_done = reader->options->zipmap == TN_ONNX_ZIPMAP_DROP &&
                   strcmp(node->op_type, "ZipMap") == 0 && strcmp(domain, "ai.onnx.ml") == 0;
    return *out_is_done ? drop(reader, scope, node, name) : TN_OK;
}

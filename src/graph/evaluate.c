/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node computed by its operator's reference, on the host: what constant folding and values that
 * decide shapes need. No kernels, no threads.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"
#include "plugin/outputs.h"
#include "plugin/strings/strings.h"

#include <string.h>

/* Views are copied, so that a reference need not write them; answers whether nothing else is left
 * to compute. */
static tn_status copy_views(const tn_graph_node *node, const tn_tensor *const *inputs,
                            tn_tensor *const *outputs, bool *out_is_done) {
    *out_is_done = true;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        if (!outputs[i]) continue;
        if (!(port->flags & TN_PORT_VIEW) || port->alias == 0) {
            *out_is_done = false;
            continue;
        }
        const tn_tensor *input = port->alias <= node->input_count ? inputs[port->alias - 1] : NULL;
        if (!input || input->bytes != outputs[i]->bytes || (input->bytes > 0 && !input->data))
            return tn_fail(TN_ERROR_PLUGIN, "output '%s' is a view of an input that is not like it",
                           port->name);
        if (input->bytes > 0 && outputs[i]->data != input->data)
            memcpy(outputs[i]->data, input->data, (size_t)input->bytes);
        if (outputs[i]->heap) tn_owned_heap_share((tn_owned_heap *)outputs[i]->heap, input->heap);
    }
    return TN_OK;
}

static tn_status fail_at(const tn_graph_node *node, tn_status status) {
    return tn_error_in(status, .node = node->name, .op = node->entry->op->name);
}

tn_status tn_evaluate_call(const tn_graph *graph, const tn_graph_node *node,
                           const tn_tensor *const *inputs, tn_tensor *const *outputs,
                           tn_output_source *source, const tn_run_state *run, uint32_t *questions) {
    const tn_operator *op = node->entry->op;
    bool is_done;
    tn_status status = copy_views(node, inputs, outputs, &is_done);
    if (status != TN_OK) return fail_at(node, status);
    if (is_done) return TN_OK;
    if (!op->reference)
        return fail_at(node, tn_fail(TN_ERROR_UNSUPPORTED,
                                     "has no reference, by which a value could be known before a "
                                     "run"));
    tn_body_references bodies;
    uint32_t own_questions = 0;
    tn_body_references_init(&bodies, graph->allocator);
    bodies.run = run;
    if (!run) bodies.questions = questions ? questions : &own_questions;
    tn_call_scope scope = {.runtime = graph->runtime,
                           .library = node->entry->library->name,
                           .questions = bodies.questions,
                           .bodies = &bodies.executor};
    tn_call call = {.size = sizeof(call),
                    .input_count = node->input_count,
                    .output_count = node->output_count,
                    .threads = 1,
                    .flags = TN_CALL_REFERENCE,
                    .host = tn_runtime_host(graph->runtime),
                    .op = op,
                    .params = node->params,
                    .user = op->user,
                    .inputs = inputs,
                    .outputs = outputs,
                    .device = tn_runtime_cpu(graph->runtime),
                    .node = node->name,
                    .host_private = &scope};
    if (source && tn_outputs_begin(source, &call)) scope.outputs = source;
    status = tn_call_invoke(&call, op->reference, "reference");
    if (status == TN_OK && scope.outputs) status = tn_outputs_end(source, &call, "reference");
    tn_body_references_deinit(&bodies);
    return status;
}

static bool is_hidden(const tn_graph_node *node, uint32_t index, const tn_tensor *input) {
    const tn_port *port = tn_graph_input_port(node->entry->op, index);
    return input && input->data && port && (port->flags & TN_PORT_SHAPE_ONLY);
}

tn_status tn_evaluate_node(const tn_graph *graph, uint32_t index, const tn_tensor *const *inputs,
                           tn_tensor *const *outputs) {
    const tn_graph_node *node = &graph->nodes[index];
    uint32_t hidden_count = 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        hidden_count += is_hidden(node, i, inputs[i]);
    if (hidden_count == 0) return tn_evaluate_call(graph, node, inputs, outputs, NULL, NULL, NULL);

    const tn_tensor **seen = tn_allocate_zero(graph->allocator, node->input_count, sizeof(*seen));
    tn_tensor *hidden = tn_allocate_zero(graph->allocator, hidden_count, sizeof(*hidden));
    tn_status status = seen && hidden ? TN_OK : tn_fail_memory("computing a node");
    uint32_t used = 0;
    for (uint32_t i = 0; i < node->input_count && status == TN_OK; i++) {
        seen[i] = inputs[i];
        if (!is_hidden(node, i, inputs[i])) continue;
        hidden[used] = *inputs[i];
        hidden[used].data = NULL;
        hidden[used].heap = NULL;
        seen[i] = &hidden[used++];
    }
    if (status == TN_OK) status = tn_evaluate_call(graph, node, seen, outputs, NULL, NULL, NULL);
    tn_deallocate(graph->allocator, hidden);
    tn_deallocate(graph->allocator, (void *)seen);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops what no graph output depends on: nodes, and of the nodes that stay the optional outputs
 * that nobody reads, so that kernels need not write them.
 */
#include "base/status.h"
#include "builder/passes/passes.h"

static void need(const tn_graph *graph, bool *is_needed, tn_tensor_id *queue, size_t *count,
                 tn_tensor_id tensor) {
    uint32_t producer = tensor == TN_NO_TENSOR ? TN_NO_NODE : graph->tensors[tensor].producer;
    if (producer == TN_NO_NODE || is_needed[producer]) return;
    is_needed[producer] = true;
    queue[(*count)++] = producer;
}

static tn_status drop_nodes(tn_pass_context *context) {
    tn_graph *graph = context->graph;
    bool *is_needed = tn_allocate_zero(graph->allocator, graph->node_count + 1, sizeof(bool));
    uint32_t *queue = tn_allocate_zero(graph->allocator, graph->node_count + 1, sizeof *queue);
    size_t count = 0;
    tn_status status = TN_OK;
    if (!is_needed || !queue) TN_GO(tn_fail_memory("dropping dead nodes"));
    for (size_t i = 0; i < graph->output_count; i++)
        need(graph, is_needed, queue, &count, graph->outputs[i]);
    for (size_t next = 0; next < count; next++) {
        const tn_graph_node *node = &graph->nodes[queue[next]];
        for (uint32_t i = 0; i < node->input_count; i++)
            need(graph, is_needed, queue, &count, node->inputs[i]);
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        if (is_needed[n]) continue;
        graph->nodes[n].is_dead = true;
        TN_GO(tn_pass_names_add(context, &context->dropped, graph->nodes[n].name));
    }
    TN_GO(tn_graph_sort(graph));
done:
    tn_deallocate(graph->allocator, is_needed);
    tn_deallocate(graph->allocator, queue);
    return status;
}

static tn_status drop_outputs(tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++) {
        tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (node->outputs[i] == TN_NO_TENSOR ||
                graph->tensors[node->outputs[i]].use_count > 0 ||
                !(tn_graph_output_port(node->entry->op, i)->flags & TN_PORT_OPTIONAL))
                continue;
            graph->tensors[node->outputs[i]].producer = TN_NO_NODE;
            node->outputs[i] = TN_NO_TENSOR;
        }
    }
    return TN_OK;
}

tn_status tn_pass_drop_dead(tn_pass_context *context) {
    TN_TRY(drop_nodes(context));
    return drop_outputs(context->graph);
}

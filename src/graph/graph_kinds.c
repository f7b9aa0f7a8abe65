/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tensors of a graph are sequences, optionals and maps: inputs that were declared so, and
 * those whose producer's port says so. The kind of the latter is kept nowhere else, so that neither
 * a pass nor a plan can tell another one.
 */
#include "base/status.h"
#include "graph/graph.h"
#include "plugin/sequences/kinds.h"

#include <inttypes.h>

static uint32_t kind_at(const tn_port_rule *rules, uint32_t count, uint32_t index) {
    return count == 0 ? TN_KIND_DENSE : rules[index < count ? index : count - 1].kind;
}

uint32_t tn_graph_input_kind(const tn_graph_node *node, uint32_t index) {
    return kind_at(node->entry->inputs, node->entry->op->input_count, index);
}

uint32_t tn_graph_output_kind(const tn_graph_node *node, uint32_t index) {
    return kind_at(node->entry->outputs, node->entry->op->output_count, index);
}

uint32_t tn_graph_kind(const tn_graph *graph, tn_tensor_id tensor) {
    const uint32_t producer = graph->tensors[tensor].producer;
    if (producer == TN_NO_NODE) return graph->tensors[tensor].kind;
    const tn_graph_node *node = &graph->nodes[producer];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] == tensor) return tn_graph_output_kind(node, i);
    return TN_KIND_DENSE;
}

bool tn_graph_node_has_kinds(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && tn_graph_input_kind(node, i)) return true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && tn_graph_output_kind(node, i)) return true;
    return false;
}

bool tn_graph_has_kind_inputs(const tn_graph *graph) {
    for (size_t i = 0; i < graph->input_count; i++)
        if (graph->tensors[graph->inputs[i]].kind) return true;
    return false;
}

static tn_status check_input(const tn_graph *graph, const tn_graph_node *node, uint32_t index) {
    const tn_tensor_id id = node->inputs[index];
    if (id == TN_NO_TENSOR) return TN_OK;
    const uint32_t kind = tn_graph_kind(graph, id), wanted = tn_graph_input_kind(node, index);
    if (kind == wanted) return TN_OK;
    tn_fail(TN_ERROR_TYPE, "input '%s' (tensor '%s') is %s; the port takes %s",
            tn_graph_input_port(node->entry->op, index)->name, graph->tensors[id].name,
            tn_kind_name(kind), tn_kind_name(wanted));
    return tn_error_in(TN_ERROR_TYPE, .node = node->name, .op = node->entry->op->name);
}

tn_status tn_graph_check_kinds(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; !graph->nodes[n].is_dead && i < graph->nodes[n].input_count; i++)
            TN_TRY(check_input(graph, &graph->nodes[n], i));
    return TN_OK;
}

tn_status tn_graph_check_body_kinds(const tn_graph *body) {
    for (size_t i = 0; i < body->input_count; i++) {
        const tn_graph_tensor *tensor = &body->tensors[body->inputs[i]];
        if (tensor->kind != TN_KIND_DENSE)
            return tn_fail(TN_ERROR_TYPE, "input '%s' of graph '%s' is %s: expected a dense tensor",
                           tensor->name, body->name, tn_kind_name(tensor->kind));
    }
    for (size_t i = 0; i < body->output_count; i++) {
        const uint32_t kind = tn_graph_kind(body, body->outputs[i]);
        if (kind != TN_KIND_DENSE)
            return tn_fail(TN_ERROR_TYPE,
                           "output '%s' of graph '%s' is %s: expected a dense tensor",
                           body->output_names[i], body->name, tn_kind_name(kind));
    }
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that new data may come for when all is built: see body.h and tenon/refit.h. */
#include "graph/body.h"

static const char *find(const tn_graph *graph) {
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].refit_name) return graph->tensors[t].refit_name;
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        tn_graph_body *body;
        if (graph->nodes[n].is_dead) continue;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL) {
            const char *found = find(body->graph);
            if (found) return found;
        }
    }
    return NULL;
}

static const char *find_in_bodies(const tn_graph_node *node) {
    uint32_t field = 0;
    tn_graph_body *body;
    while ((body = tn_graph_next_body(node, &field)) != NULL) {
        const char *found = find(body->graph);
        if (found) return found;
    }
    return NULL;
}

bool tn_graph_refit_in_bodies(const tn_graph_node *node) {
    return find_in_bodies(node) != NULL;
}

const char *tn_graph_refit_of(const tn_graph *graph, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && graph->tensors[node->inputs[i]].refit_name)
            return graph->tensors[node->inputs[i]].refit_name;
    return find_in_bodies(node);
}

bool tn_graph_has_refit(const tn_graph *graph) {
    return find(graph) != NULL;
}

const char *tn_graph_refuse_refit(const tn_graph_tensor *tensor, bool is_needed) {
    if (tensor->type == TN_STRING || tensor->type == TN_BOOL) return "it is not of numbers";
    if (tensor->quantization) return "it has a quantisation of its own";
    if (tensor->bytes == 0) return "it has no elements";
    return is_needed ? "its value decides shapes" : NULL;
}

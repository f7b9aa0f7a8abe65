/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that edits put into a graph; see edit.h. */
#include "importers/edits/edit.h"
#include "base/status.h"

tn_status tn_edit_add_node(tn_graph *graph, const char *op, const char *base, uint32_t input_count,
                           const tn_tensor_id *inputs, const tn_attribute *attribute,
                           tn_tensor_id *out_tensor) {
    const char *name = tn_graph_make_name(graph, base);
    if (!name) return tn_fail_memory("a node's name");
    const tn_node_description node = {.size = sizeof(node),
                                      .version = TN_EDIT_OPSET,
                                      .op = op,
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .output_names = &name,
                                      .attribute_count = attribute ? 1 : 0,
                                      .attributes = &attribute};
    return tn_graph_add_node(graph, &node, out_tensor);
}

void tn_edit_replace_uses(tn_graph *graph, size_t node_count, tn_tensor_id from, tn_tensor_id to) {
    for (size_t i = 0; i < node_count; i++)
        for (uint32_t j = 0; j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] == from) graph->nodes[i].inputs[j] = to;
}

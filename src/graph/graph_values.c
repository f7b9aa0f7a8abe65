/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which values decide shapes: from the ports that need one, backwards through the nodes that
 * compute them. Each tensor is looked at once.
 */
#include "base/status.h"
#include "graph/body.h"

typedef struct value_marker {
    const tn_graph *graph;
    bool *tensors;
    tn_tensor_id *queue;
    size_t count;
} value_marker;

static void mark_tensor(value_marker *marker, tn_tensor_id id) {
    if (id == TN_NO_TENSOR || marker->tensors[id]) return;
    marker->tensors[id] = true;
    marker->queue[marker->count++] = id;
}

static void mark_needed(value_marker *marker, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (tn_graph_needs_value(node, i)) mark_tensor(marker, node->inputs[i]);
}

static void mark_read(value_marker *marker, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port *port = tn_graph_input_port(node->entry->op, i);
        /* what a sequence is made of is computed by a run, and its readers then */
        if (port && !(port->flags & TN_PORT_SHAPE_ONLY) && !tn_graph_input_kind(node, i))
            mark_tensor(marker, node->inputs[i]);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the marker */
tn_status tn_graph_mark_values(const tn_graph *graph, bool *tensors, bool *nodes) {
    value_marker marker = {.graph = graph, .tensors = tensors};
    marker.queue =
        tn_allocate_zero(graph->allocator, graph->tensor_count + 1, sizeof(*marker.queue));
    if (!marker.queue) return tn_fail_memory("finding values that decide shapes");
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead) mark_needed(&marker, &graph->nodes[n]);
    for (size_t done = 0; done < marker.count; done++) {
        uint32_t producer = graph->tensors[marker.queue[done]].producer;
        if (producer == TN_NO_NODE || graph->nodes[producer].is_dead) continue;
        if (nodes) nodes[producer] = true;
        mark_read(&marker, &graph->nodes[producer]);
    }
    tn_deallocate(graph->allocator, marker.queue);
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph's inputs and outputs are, for its user: tn_port_info, set anew each time it is asked
 * for, since passes and callers may have changed the graph in between.
 */
#include "base/status.h"
#include "graph/graph_private.h"

#include <string.h>

/* The info with what it points at, so that it has the lifetime of the graph. */
typedef struct port_storage {
    tn_port_info info;
    int64_t extents[TN_MAX_RANK];
    const char *names[TN_MAX_RANK];
} port_storage;

tn_status tn_graph_add_port_info(tn_graph *graph, tn_port_info ***infos, size_t *capacity,
                                 size_t index) {
    TN_TRY(tn_grow(graph->allocator, (void **)infos, capacity, index + 1, sizeof(**infos)));
    port_storage *storage = tn_arena_allocate(graph->arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a port");
    (*infos)[index] = &storage->info;
    return TN_OK;
}

static void set_info(tn_port_info *info, const tn_graph_tensor *tensor, const char *name) {
    info->size = sizeof(*info);
    info->type = tensor->type;
    info->name = name;
    info->kind = tensor->kind;
    info->key_type = tensor->key_type;
    info->rank = tensor->has_shape ? tensor->shape.rank : UINT32_MAX;
    port_storage *storage = (port_storage *)info;
    memcpy(storage->extents, tensor->shape.extents, sizeof(storage->extents));
    memcpy(storage->names, tensor->extent_names, sizeof(storage->names));
    info->extents = storage->extents;
    info->names = storage->names;
}

static bool is_value(const tn_graph *graph, tn_tensor_id tensor) {
    bool *needed = tn_allocate_zero(graph->allocator, graph->tensor_count, sizeof(*needed));
    if (!needed) return false;
    bool answer = tn_graph_mark_values(graph, needed, NULL) == TN_OK && needed[tensor];
    tn_deallocate(graph->allocator, needed);
    return answer;
}

uint32_t tn_graph_input_count(const tn_graph *graph) {
    return graph ? (uint32_t)graph->input_count : 0;
}

uint32_t tn_graph_output_count(const tn_graph *graph) {
    return graph ? (uint32_t)graph->output_count : 0;
}

const tn_port_info *tn_graph_input(const tn_graph *graph, uint32_t index) {
    if (!graph || index >= graph->input_count) return NULL;
    tn_port_info *info = graph->private_part->input_infos[index];
    const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[index]];
    set_info(info, tensor, tensor->name);
    info->is_value = is_value(graph, graph->inputs[index]) ? 1 : 0;
    return info;
}

const tn_port_info *tn_graph_output(const tn_graph *graph, uint32_t index) {
    if (!graph || index >= graph->output_count) return NULL;
    tn_port_info *info = graph->private_part->output_infos[index];
    set_info(info, &graph->tensors[graph->outputs[index]], graph->output_names[index]);
    info->kind = tn_graph_kind(graph, graph->outputs[index]);
    return info;
}

bool tn_graph_is_output(const tn_graph *graph, tn_tensor_id tensor) {
    for (size_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == tensor) return true;
    return false;
}

uint64_t tn_graph_constant_bytes(const tn_graph *graph) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].is_constant) bytes += graph->tensors[i].bytes;
    return bytes;
}

void tn_graph_replace_reads(tn_graph *graph, tn_tensor_id from, tn_tensor_id to) {
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] == from) graph->nodes[n].inputs[i] = to;
}

bool tn_graph_node_has_one_output(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if ((node->outputs[i] != TN_NO_TENSOR) != (i == 0)) return false;
    return node->output_count > 0;
}

bool tn_graph_node_is_view(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        if (!(port->flags & TN_PORT_VIEW) || port->alias == 0 || port->alias > node->input_count ||
            node->inputs[port->alias - 1] == TN_NO_TENSOR)
            return false;
    }
    return true;
}

bool tn_graph_output_is_sized(const tn_graph_node *node, uint32_t index) {
    const tn_port *port = tn_graph_output_port(node->entry->op, index);
    return !node->is_exact && port && (port->flags & TN_PORT_SIZED_BY_RUN);
}

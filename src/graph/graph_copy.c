/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a graph that passes may change while the original stays as it is: names, nodes and
 * parameters are its own, constants' data is the original's.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/graph_private.h"

static tn_status copy_tensor(tn_graph *to, const tn_graph_tensor *from) {
    tn_tensor_id id;
    TN_TRY(tn_graph_add_tensor(to, from->name, from->type, &id));
    tn_graph_tensor *tensor = &to->tensors[id];
    const char *name = tensor->name;
    *tensor = *from;
    tensor->name = name;
    tensor->declaration = 0;
    for (uint32_t i = 0; i < TN_MAX_RANK; i++) {
        if (!from->extent_names[i]) continue;
        tensor->extent_names[i] = tn_arena_text(to->arena, from->extent_names[i]);
        if (!tensor->extent_names[i]) return tn_fail_memory("an extent's name");
    }
    return TN_OK;
}

/* Parameters come from fields again; those that only load or run-time creation can make are lent,
 * since such objects may lose their state when they are cloned. */
static tn_status copy_params(tn_graph *to, tn_graph_node *node, const tn_graph_node *from) {
    const tn_operator *op = from->entry->op;
    node->has_lent_params = op->load || op->destroy_params;
    if (node->has_lent_params) return TN_OK;
    return tn_fields_parse(to->arena, op, node->attribute_count, node->attributes, &node->params);
}

static tn_status fill_node(tn_graph *to, tn_graph_node *node, const tn_graph_node *from) {
    node->name = tn_arena_text(to->arena, from->name);
    node->inputs = tn_arena_copy(to->arena, from->inputs, from->input_count * sizeof(tn_tensor_id));
    node->outputs =
        tn_arena_copy(to->arena, from->outputs, from->output_count * sizeof(tn_tensor_id));
    if (!node->name || !node->inputs || !node->outputs) return tn_fail_memory("a node");
    TN_TRY(tn_graph_copy_attributes(to, from->attribute_count, from->attributes, false,
                                    &node->attributes));
    TN_TRY(tn_graph_bind_bodies(node));
    return copy_params(to, node, from);
}

static tn_status copy_nodes(tn_graph *to, const tn_graph *from) {
    TN_TRY(tn_grow(to->allocator, (void **)&to->nodes, &to->node_capacity, from->node_count,
                   sizeof(*to->nodes)));
    for (size_t i = 0; i < from->node_count; i++) {
        tn_graph_node node = from->nodes[i];
        TN_TRY(fill_node(to, &node, &from->nodes[i]));
        tn_library_retain(node.entry->library);
        to->nodes[to->node_count++] = node;
    }
    return TN_OK;
}

static tn_status copy_ports(tn_graph *to, const tn_graph *from) {
    struct tn_graph_private *own = to->private_part;
    TN_TRY(tn_grow(to->allocator, (void **)&to->inputs, &to->input_capacity, from->input_count,
                   sizeof(*to->inputs)));
    for (size_t i = 0; i < from->input_count; i++) {
        TN_TRY(tn_graph_add_port_info(to, &own->input_infos, &own->input_info_capacity, i));
        to->inputs[to->input_count++] = from->inputs[i];
    }
    for (size_t i = 0; i < from->output_count; i++)
        TN_TRY(tn_graph_add_output(to, from->outputs[i], from->output_names[i]));
    return TN_OK;
}

static tn_status copy_all(tn_graph *to, const tn_graph *from) {
    for (size_t i = 0; i < from->tensor_count; i++)
        TN_TRY(copy_tensor(to, &from->tensors[i]));
    TN_TRY(copy_nodes(to, from));
    for (size_t i = 0; i < from->private_part->opset_count; i++)
        TN_TRY(tn_graph_set_opset(to, from->private_part->opsets[i].domain,
                                  from->private_part->opsets[i].version));
    TN_TRY(tn_graph_copy_model_info(to, from));
    TN_TRY(tn_graph_copy_declarations(to, from));
    TN_TRY(copy_ports(to, from));
    for (size_t i = 0; i < from->tensor_count; i++) /* outputs were counted again */
        to->tensors[i].use_count = from->tensors[i].use_count;
    to->private_part->next_name = from->private_part->next_name;
    return TN_OK;
}

tn_status tn_graph_copy(const tn_graph *graph, tn_graph **out_copy) {
    tn_graph *copy;
    TN_TRY(tn_graph_create(graph->runtime, graph->name, &copy));
    tn_status status = copy_all(copy, graph);
    if (status != TN_OK) {
        tn_graph_destroy(copy);
        return status;
    }
    *out_copy = copy;
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a graph that passes may change while the original stays as it is: names, nodes and
 * parameters are its own, constants' data is the original's. And copies of a body's nodes in the
 * graph around it.
 */
#include "base/map.h"
#include "base/status.h"
#include "graph/body.h"
#include "graph/graph_private.h"

static tn_status copy_tensor(tn_graph *to, const char *as, const tn_graph_tensor *from) {
    tn_tensor_id id;
    TN_TRY(tn_graph_add_tensor(to, as, from->type, &id));
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
        TN_TRY(copy_tensor(to, from->tensors[i].name, &from->tensors[i]));
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
    copy->original = tn_graph_retain((tn_graph *)(uintptr_t)graph);
    tn_status status = copy_all(copy, graph);
    if (status != TN_OK) {
        tn_graph_destroy(copy);
        return status;
    }
    *out_copy = copy;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a body in place of its node */

/* A body that becomes a part of the graph around it. `map`: by tensor of the body, its number in
 * that graph. */
typedef struct body_inliner {
    tn_graph *graph;
    const tn_graph *body;
    tn_graph_node node; /* as it was */
    tn_tensor_id *map;
} body_inliner;

/* What the body computes becomes the node's output itself, once, and so does a constant of the
 * body; other results stand for it. */
static void map_output(body_inliner *inliner, tn_tensor_id result, tn_tensor_id output) {
    const tn_graph_tensor *from = &inliner->body->tensors[result];
    tn_graph_tensor *to = &inliner->graph->tensors[output];
    const char *name = to->name;
    if (inliner->map[result] != TN_NO_TENSOR) return;
    inliner->map[result] = output;
    if (!from->is_constant) return;
    *to = *from;
    to->name = name;
    to->declaration = 0;
}

static void map_outputs(body_inliner *inliner) {
    for (uint32_t i = 0; i < inliner->node.output_count; i++)
        if (inliner->node.outputs[i] != TN_NO_TENSOR)
            map_output(inliner, inliner->body->outputs[i], inliner->node.outputs[i]);
}

static tn_status map_tensors(body_inliner *inliner) {
    tn_graph *graph = inliner->graph;
    for (size_t t = 0; t < inliner->body->tensor_count; t++) {
        const tn_graph_tensor *tensor = &inliner->body->tensors[t];
        if (inliner->map[t] != TN_NO_TENSOR) continue;
        const bool is_taken = tn_map_get(graph->names, tensor->name, &(uint64_t){0});
        const char *name = is_taken ? tn_graph_make_name(graph, tensor->name) : tensor->name;
        if (!name) return tn_fail_memory("a tensor's name");
        inliner->map[t] = (tn_tensor_id)graph->tensor_count;
        TN_TRY(copy_tensor(graph, name, tensor));
    }
    return TN_OK;
}

static tn_status add_node(body_inliner *inliner, const tn_graph_node *from) {
    tn_graph *graph = inliner->graph;
    tn_graph_node node = *from;
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->nodes, &graph->node_capacity,
                   graph->node_count + 1, sizeof(*graph->nodes)));
    TN_TRY(fill_node(graph, &node, from));
    for (uint32_t i = 0; i < node.input_count; i++)
        if (node.inputs[i] != TN_NO_TENSOR) node.inputs[i] = inliner->map[node.inputs[i]];
    for (uint32_t i = 0; i < node.output_count; i++)
        if (node.outputs[i] != TN_NO_TENSOR) node.outputs[i] = inliner->map[node.outputs[i]];
    tn_library_retain(node.entry->library);
    graph->nodes[graph->node_count++] = node;
    return TN_OK;
}

/* By nodes, and as outputs of the graph. */
static void replace_uses(tn_graph *graph, tn_tensor_id from, tn_tensor_id to) {
    tn_graph_replace_reads(graph, from, to);
    for (size_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == from) graph->outputs[i] = to;
}

static tn_status inline_body(body_inliner *inliner, uint32_t index) {
    map_outputs(inliner);
    TN_TRY(map_tensors(inliner));
    for (size_t n = 0; n < inliner->body->node_count; n++)
        if (!inliner->body->nodes[n].is_dead) TN_TRY(add_node(inliner, &inliner->body->nodes[n]));
    tn_graph_node *node = &inliner->graph->nodes[index];
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_tensor_id output = node->outputs[i];
        if (output == TN_NO_TENSOR) continue;
        const tn_tensor_id made = inliner->map[inliner->body->outputs[i]];
        if (made != output) replace_uses(inliner->graph, output, made);
        node->outputs[i] = TN_NO_TENSOR;
    }
    node->is_dead = true;
    return TN_OK;
}

tn_status tn_graph_inline_body(tn_graph *graph, uint32_t node, const tn_graph_body *body) {
    const size_t count = body->graph->tensor_count;
    const uint32_t captured = body->view.capture_count;
    body_inliner inliner = {.graph = graph, .body = body->graph, .node = graph->nodes[node]};
    if (body->view.input_count > 0 || body->view.output_count < inliner.node.output_count)
        return tn_fail(TN_ERROR_PLUGIN, "body '%s' has %u inputs and %u outputs: expected 0 and %u",
                       body->view.name, body->view.input_count, body->view.output_count,
                       inliner.node.output_count);
    inliner.map = tn_allocate_zero(graph->allocator, count + 1, sizeof(*inliner.map));
    if (!inliner.map) return tn_fail_memory("a body");
    for (size_t t = 0; t < count; t++)
        inliner.map[t] = TN_NO_TENSOR;
    for (uint32_t i = 0; i < captured; i++)
        inliner.map[body->graph->inputs[i]] =
            inliner.node.inputs[inliner.node.input_count - body->view.capture_offset + i];
    const tn_status status = inline_body(&inliner, node);
    tn_deallocate(graph->allocator, inliner.map);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's nodes, tensors and bodies as structs for its user: the first part of tenon/describe.h.
 * All that they point to is the graph's own; where a model comes from is in graph_info.c.
 */
#include "base/status.h"
#include "graph/body.h"

#include <inttypes.h>
#include <string.h>

/* Fills what of the caller's struct he knows of; its size stays. */
static void fill_sized(void *to, const void *from, size_t bytes) {
    uint32_t size;
    memcpy(&size, to, sizeof(size));
    memcpy(to, from, size < bytes ? size : bytes);
    memcpy(to, &size, sizeof(size));
}

static tn_status check_call(const char *function, const tn_graph *graph, const void *out) {
    uint32_t size = 0;
    if (out) memcpy(&size, out, sizeof(size));
    if (!graph || size < sizeof(size))
        return tn_fail(TN_ERROR_ARGUMENT, "%s needs a graph and a struct with its size", function);
    return TN_OK;
}

static tn_status check_index(const char *what, uint32_t index, size_t count) {
    if (index < count) return TN_OK;
    return tn_fail(TN_ERROR_RANGE, "there is no %s %" PRIu32 ": the graph has %zu", what, index,
                   count);
}

uint32_t tn_graph_node_count(const tn_graph *graph) {
    return graph ? (uint32_t)graph->node_count : 0;
}

uint32_t tn_graph_tensor_count(const tn_graph *graph) {
    return graph ? (uint32_t)graph->tensor_count : 0;
}

tn_tensor_id tn_graph_input_tensor(const tn_graph *graph, uint32_t index) {
    return graph && index < graph->input_count ? graph->inputs[index] : TN_NO_TENSOR;
}

tn_tensor_id tn_graph_output_tensor(const tn_graph *graph, uint32_t index) {
    return graph && index < graph->output_count ? graph->outputs[index] : TN_NO_TENSOR;
}

tn_status tn_graph_get_node(const tn_graph *graph, uint32_t index, tn_node_info *out_node) {
    TN_TRY(check_call("tn_graph_get_node", graph, out_node));
    TN_TRY(check_index("node", index, graph->node_count));
    const tn_graph_node *node = &graph->nodes[index];
    tn_node_info info = {.version = node->entry->op->since_version,
                         .domain = node->entry->op->domain,
                         .op = node->entry->op->name,
                         .name = node->name,
                         .library = node->entry->library->name,
                         .input_count = node->input_count,
                         .output_count = node->output_count,
                         .inputs = node->inputs,
                         .outputs = node->outputs,
                         .attribute_count = node->attribute_count,
                         .attributes = node->attributes};
    for (uint64_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i]->type == TN_FIELD_GRAPH) info.body_count++;
    fill_sized(out_node, &info, sizeof(info));
    return TN_OK;
}

tn_status tn_graph_get_tensor(const tn_graph *graph, tn_tensor_id tensor,
                              tn_tensor_info *out_tensor) {
    TN_TRY(check_call("tn_graph_get_tensor", graph, out_tensor));
    TN_TRY(check_index("tensor", tensor, graph->tensor_count));
    const tn_graph_tensor *from = &graph->tensors[tensor];
    const tn_graph_declaration *declared = tn_graph_declaration_of(graph, tensor);
    tn_tensor_info info = {.type = from->type,
                           .name = from->name,
                           .rank = from->has_shape ? from->shape.rank : UINT32_MAX,
                           .producer = from->producer,
                           .extents = from->shape.extents,
                           .extent_names = from->extent_names,
                           .data = from->data,
                           .bytes = from->bytes,
                           .is_constant = from->is_constant,
                           .is_input = from->is_input,
                           .is_output = tn_graph_is_output(graph, tensor)};
    if (info.type == TN_NONE && declared) info.type = declared->type;
    if (!from->has_shape && declared && declared->has_shape) {
        info.rank = declared->shape.rank;
        info.extents = declared->shape.extents;
    }
    fill_sized(out_tensor, &info, sizeof(info));
    return TN_OK;
}

tn_status tn_graph_get_body(const tn_graph *graph, uint32_t node, uint32_t index,
                            tn_body_info *out_body) {
    TN_TRY(check_call("tn_graph_get_body", graph, out_body));
    TN_TRY(check_index("node", node, graph->node_count));
    const tn_graph_node *from = &graph->nodes[node];
    uint32_t count = 0;
    for (uint64_t i = 0; i < from->attribute_count; i++) {
        const tn_attribute *attribute = from->attributes[i];
        if (attribute->type != TN_FIELD_GRAPH || count++ != index) continue;
        const tn_graph_body *body = tn_graph_body_of(attribute->graph);
        const tn_body_info info = {.capture_count = body->view.capture_count,
                                   .attribute = attribute->name,
                                   .graph = body->graph};
        fill_sized(out_body, &info, sizeof(info));
        return TN_OK;
    }
    return tn_fail(TN_ERROR_RANGE, "there is no body %" PRIu32 ": node '%s' has %" PRIu32, index,
                   from->name, count);
}

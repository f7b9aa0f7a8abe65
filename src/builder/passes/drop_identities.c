/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops nodes that hand on their input as it is. Readers of the output read the input instead;
 * where the output is one of the graph's, whose name must stay, the node before writes it
 * directly, and where there is no such node the identity stays.
 */
#include "base/status.h"
#include "builder/passes/passes.h"
#include "program/node_call.h"

/* What may be refitted says nothing. */
static void hide_refitted(const tn_graph *graph, const tn_graph_node *node, const tn_call *call) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && graph->tensors[node->inputs[i]].refit_name)
            ((tn_tensor *)(uintptr_t)call->inputs[i])->data = NULL;
}

/* The tensors of a node, described at a point. */
static tn_status ask_identity(const tn_graph *graph, uint32_t node, const tn_inference *point,
                              tn_arena *arena, bool *out_is_identity) {
    const tn_tensor **tensors = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof *tensors);
    const tn_graph_node *item = &graph->nodes[node];
    tn_node_call node_call;
    if (!tensors) return tn_fail_memory("dropping identities");
    for (uint32_t i = 0; i < item->input_count; i++)
        if (item->inputs[i] != TN_NO_TENSOR)
            tensors[item->inputs[i]] = &point->tensors[item->inputs[i]].storage.tensor;
    for (uint32_t i = 0; i < item->output_count; i++)
        if (item->outputs[i] != TN_NO_TENSOR)
            tensors[item->outputs[i]] = &point->tensors[item->outputs[i]].storage.tensor;
    TN_TRY(tn_node_call_init(&node_call, arena, graph, node, tensors));
    hide_refitted(graph, item, &node_call.call);
    *out_is_identity =
        tn_call_ask(&node_call.call, node_call.call.op->is_identity, "is_identity") == TN_OK;
    return TN_OK;
}

static bool is_shaped(const tn_pass_context *context, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && !tn_pass_is_shaped(context, node->inputs[i]))
            return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && !tn_pass_is_shaped(context, node->outputs[i]))
            return false;
    return true;
}

static bool is_same(const tn_pass_context *context, tn_tensor_id a, tn_tensor_id b) {
    for (int point = 0; point < TN_POINTS; point++) {
        const tn_tensor_storage *left = &context->points[point]->tensors[a].storage;
        const tn_tensor_storage *right = &context->points[point]->tensors[b].storage;
        if (left->tensor.type != right->tensor.type || !tn_shape_equal(&left->shape, &right->shape))
            return false;
    }
    return context->graph->tensors[a].quantization == context->graph->tensors[b].quantization;
}

static tn_status is_identity(const tn_pass_context *context, uint32_t index, bool *out_answer) {
    const tn_graph *graph = context->graph;
    const tn_graph_node *node = &graph->nodes[index];
    const tn_operator *op = node->entry->op;
    *out_answer = false;
    if (!(op->traits & TN_OPERATOR_IDENTITY) || node->input_count == 0 || node->output_count == 0 ||
        node->inputs[0] == TN_NO_TENSOR || node->outputs[0] == TN_NO_TENSOR)
        return TN_OK;
    for (uint32_t i = 1; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && graph->tensors[node->outputs[i]].use_count > 0)
            return TN_OK;
    if (!is_shaped(context, node) || !is_same(context, node->inputs[0], node->outputs[0]))
        return TN_OK;
    *out_answer = true;
    for (int point = 0; op->is_identity && *out_answer && point < TN_POINTS; point++) {
        tn_arena *arena = NULL;
        TN_TRY(tn_arena_create(graph->allocator, &arena));
        tn_status status = ask_identity(graph, index, context->points[point], arena, out_answer);
        tn_arena_destroy(arena);
        TN_TRY(status);
    }
    return TN_OK;
}

/* Takes the node out; answers false when the names of outputs forbid it. */
static bool bypass(tn_graph *graph, uint32_t index) {
    tn_graph_node *node = &graph->nodes[index];
    tn_tensor_id input = node->inputs[0], output = node->outputs[0];
    if (!tn_graph_is_output(graph, output)) {
        node->is_dead = true;
        tn_graph_replace_reads(graph, output, input);
        return true;
    }
    uint32_t producer = graph->tensors[input].producer;
    if (producer == TN_NO_NODE || tn_graph_is_output(graph, input)) return false;
    node->is_dead = true;
    for (uint32_t i = 0; i < graph->nodes[producer].output_count; i++)
        if (graph->nodes[producer].outputs[i] == input) graph->nodes[producer].outputs[i] = output;
    graph->tensors[output].producer = producer;
    graph->tensors[input].producer = TN_NO_NODE;
    tn_graph_replace_reads(graph, input, output);
    return true;
}

tn_status tn_pass_drop_identities(tn_pass_context *context) {
    tn_graph *graph = context->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        bool is_dropped = false;
        TN_TRY(is_identity(context, n, &is_dropped));
        if (!is_dropped || !bypass(graph, n)) continue;
        TN_TRY(tn_pass_names_add(context, &context->dropped, graph->nodes[n].name));
    }
    return tn_graph_sort(graph);
}

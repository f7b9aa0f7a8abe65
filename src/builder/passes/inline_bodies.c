/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces a node by the nodes of its body where the operator says that, with its constants, the
 * node is that body (TN_FACET_BRANCH): an If whose condition is a constant. What is in the body is
 * then folded, fused and planned as any other node.
 */
#include "base/status.h"
#include "builder/passes/passes.h"
#include "graph/body.h"
#include "program/node_call.h"

#include <tenon/plugin/body.h>

/* The tensors of a node: constants by the graph, others as they are at the optimum. */
static tn_status describe_tensors(const tn_pass_context *context, tn_arena *arena,
                                  const tn_tensor_id *ids, uint32_t count,
                                  const tn_tensor **tensors) {
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == TN_NO_TENSOR) continue;
        const tn_graph_tensor *tensor = &context->graph->tensors[ids[i]];
        tensors[ids[i]] = &context->points[TN_POINT_OPTIMUM]->tensors[ids[i]].storage.tensor;
        if (!tensor->is_constant) continue;
        tn_tensor_storage *storage = tn_arena_allocate(arena, 1, sizeof *storage);
        if (!storage) return tn_fail_memory("a constant's description");
        TN_TRY(tn_tensor_init(storage, tensor->type, TN_LINEAR, &tensor->shape));
        if (!tensor->refit_name) storage->tensor.data = (void *)(uintptr_t)tensor->data;
        tensors[ids[i]] = &storage->tensor;
    }
    return TN_OK;
}

static const tn_body_graph *ask(tn_call *call) {
    tn_facet_branch branch = {.size = sizeof branch};
    tn_facet facet = {.size = sizeof facet, .what = &branch, .what_bytes = sizeof branch};
    return tn_call_facet(call, 0, TN_FACET_BRANCH, &facet) ? branch.body : NULL;
}

static tn_status find_branch(const tn_pass_context *context, uint32_t index, tn_arena *arena,
                             const tn_graph_body **out_body) {
    const tn_graph *graph = context->graph;
    const tn_graph_node *node = &graph->nodes[index];
    tn_node_call node_call;
    const tn_tensor **tensors = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof *tensors);
    if (!tensors) return tn_fail_memory("a call");
    TN_TRY(describe_tensors(context, arena, node->inputs, node->input_count, tensors));
    TN_TRY(describe_tensors(context, arena, node->outputs, node->output_count, tensors));
    TN_TRY(tn_node_call_init(&node_call, arena, graph, index, tensors));
    const tn_body_graph *branch = ask(&node_call.call);
    uint32_t field = 0;
    const tn_graph_body *body;
    while (branch && (body = tn_graph_next_body(node, &field)) != NULL)
        if (&body->view == branch) *out_body = body;
    return TN_OK;
}

static tn_status inline_node(tn_pass_context *context, uint32_t index, bool *inout_is_inlined) {
    tn_graph *graph = context->graph;
    const char *name = graph->nodes[index].name;
    const tn_graph_body *body = NULL;
    tn_arena *arena = NULL;
    TN_TRY(tn_arena_create(graph->allocator, &arena));
    tn_status status = find_branch(context, index, arena, &body);
    tn_arena_destroy(arena);
    if (status == TN_OK && body) status = tn_graph_inline_body(graph, index, body);
    if (status != TN_OK) return tn_error_in(status, .node = name);
    if (!body) return TN_OK;
    *inout_is_inlined = true;
    return tn_pass_names_add(context, &context->dropped, name);
}

tn_status tn_pass_inline_bodies(tn_pass_context *context, bool *out_is_inlined) {
    const size_t count = context->graph->node_count;
    *out_is_inlined = false;
    for (uint32_t n = 0; n < count; n++) {
        const tn_graph_node *node = &context->graph->nodes[n];
        if (!node->is_dead && node->entry->op->facet && tn_graph_node_has_bodies(node))
            TN_TRY(inline_node(context, n, out_is_inlined));
    }
    return *out_is_inlined ? tn_graph_sort(context->graph) : TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of which the shape rule knows all sizes, though their operators have outputs that a run may
 * size (TN_OPERATOR_EXACT): a branch whose results have one shape, a loop that carries what it was
 * given. What comes behind them has shapes that a build can rely on.
 */
#include "base/status.h"
#include "program/profile.h"

static bool may_be_exact(const tn_graph_node *node) {
    bool is_sized = false;
    for (uint32_t i = 0; i < node->output_count; i++)
        is_sized =
            is_sized || (node->outputs[i] != TN_NO_TENSOR && tn_graph_output_is_sized(node, i));
    return is_sized && (node->entry->op->traits & TN_OPERATOR_EXACT);
}

static bool has_sizes(const tn_profile_shapes *shapes, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        for (int point = 0; node->outputs[i] != TN_NO_TENSOR && point < TN_POINTS; point++)
            if (!tn_inferred_has_shape(&shapes->points[point]->tensors[node->outputs[i]]))
                return false;
    return true;
}

static bool reads(const tn_graph_node *node, const bool *is_marked) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && is_marked[node->inputs[i]]) return true;
    return false;
}

/* Whether a run sizes something of the node, or of what it reads. */
static bool is_open(const tn_profile_shapes *shapes, tn_graph_node *node, const bool *is_bound,
                    bool *inout_is_any) {
    if (reads(node, is_bound)) return true;
    if (may_be_exact(node) && !reads(node, shapes->is_unknown) && has_sizes(shapes, node))
        *inout_is_any = node->is_exact = true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR &&
            (tn_graph_output_kind(node, i) || tn_graph_output_is_sized(node, i)))
            return true;
    return false;
}

tn_status tn_profile_mark_exact(const tn_profile_shapes *shapes, tn_graph *graph, tn_arena *arena,
                                bool *out_is_any) {
    bool *is_bound = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    *out_is_any = false;
    if (!is_bound) return tn_fail_memory("the shapes of a profile");
    for (size_t n = 0; n < graph->node_count; n++) {
        tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead || !is_open(shapes, node, is_bound, out_is_any)) continue;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR) is_bound[node->outputs[i]] = true;
    }
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said about a graph's shapes before any is known: which nodes are computed during
 * inference because their values decide shapes, and which come after an output that only a run can
 * size.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"
#include "plugin/sequences/kinds.h"

typedef struct plan_arrays {
    bool *is_host_node, *is_host_tensor, *is_value_input, *is_after_run, *is_run_value;
    bool *is_bound; /* by tensor: its shape is a bound */
} plan_arrays;

bool tn_infer_reads(const tn_graph_node *node, const bool *is_marked) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && is_marked[node->inputs[i]]) return true;
    return false;
}

bool tn_infer_uses_value(const tn_graph_node *node, uint32_t input, bool is_host_node) {
    const uint32_t flags = tn_graph_input_port(node->entry->op, input)->flags;
    return (flags & TN_PORT_VALUE_WANTED) || tn_graph_needs_value(node, input) ||
           (is_host_node && !(flags & TN_PORT_SHAPE_ONLY));
}

/* Whether the node's shape, or its value, follows from a value that a run computes. */
static bool follows_run(const tn_graph_node *node, const bool *is_run_value, bool is_host_node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && is_run_value[node->inputs[i]] &&
            tn_infer_uses_value(node, i, is_host_node))
            return true;
    return false;
}

/* Values that decide shapes and that steps compute; answers whether there are any. */
static bool mark_run_values(const tn_graph *graph, plan_arrays *arrays) {
    bool is_any = false;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; !node->is_dead && node->is_value_step && i < node->output_count; i++) {
            const tn_tensor_id id = node->outputs[i];
            if (id == TN_NO_TENSOR || !arrays->is_host_tensor[id]) continue;
            arrays->is_run_value[id] = is_any = true;
        }
    }
    return is_any;
}

/* In the order of the nodes, so that producers have been looked at. */
static bool mark_after_run(const tn_graph *graph, plan_arrays *arrays) {
    bool is_any = mark_run_values(graph, arrays) || tn_graph_has_kind_inputs(graph);
    for (size_t i = 0; i < graph->input_count; i++)
        arrays->is_bound[graph->inputs[i]] = graph->tensors[graph->inputs[i]].kind != 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead) continue;
        const bool is_after = tn_infer_reads(node, arrays->is_bound) ||
                              follows_run(node, arrays->is_run_value, arrays->is_host_node[n]);
        arrays->is_after_run[n] = is_after;
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (node->outputs[i] == TN_NO_TENSOR) continue;
            const bool is_sized = tn_graph_output_kind(node, i) ||
                                  (tn_graph_output_is_sized(node, i) && !arrays->is_host_node[n]);
            arrays->is_bound[node->outputs[i]] = is_after || is_sized;
            is_any = is_any || is_sized;
        }
    }
    return is_any;
}

/* What is computed while shapes are inferred has no sequences to write. */
static tn_status check_host_nodes(const tn_graph *graph, const bool *is_host_node) {
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; is_host_node[n] && i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR && tn_graph_output_kind(node, i))
                return tn_fail(
                    TN_ERROR_UNSUPPORTED,
                    "node '%s' (%s) writes a value that decides shapes beside '%s', which "
                    "is %s: expected one of both",
                    node->name, node->entry->op->name, graph->tensors[node->outputs[i]].name,
                    tn_kind_name(tn_graph_output_kind(node, i)));
    }
    return TN_OK;
}

tn_status tn_inference_plan_create(const tn_graph *graph, tn_arena *arena,
                                   tn_inference_plan *out_plan) {
    plan_arrays arrays = {
        .is_host_node = tn_arena_allocate(arena, graph->node_count, sizeof(bool)),
        .is_host_tensor = tn_arena_allocate(arena, graph->tensor_count, sizeof(bool)),
        .is_value_input = tn_arena_allocate(arena, graph->input_count, sizeof(bool)),
        .is_after_run = tn_arena_allocate(arena, graph->node_count, sizeof(bool)),
        .is_run_value = tn_arena_allocate(arena, graph->tensor_count, sizeof(bool)),
        .is_bound = tn_arena_allocate(arena, graph->tensor_count, sizeof(bool))};
    if (!arrays.is_host_node || !arrays.is_host_tensor || !arrays.is_value_input ||
        !arrays.is_after_run || !arrays.is_run_value || !arrays.is_bound)
        return tn_fail_memory("planning the inference of shapes");
    TN_TRY(tn_graph_mark_values(graph, arrays.is_host_tensor, arrays.is_host_node));
    TN_TRY(check_host_nodes(graph, arrays.is_host_node));
    for (size_t i = 0; i < graph->input_count; i++)
        arrays.is_value_input[i] = arrays.is_host_tensor[graph->inputs[i]];
    bool is_sized_by_run = mark_after_run(graph, &arrays);
    *out_plan = (tn_inference_plan){.is_host_node = arrays.is_host_node,
                                    .is_host_tensor = arrays.is_host_tensor,
                                    .is_value_input = arrays.is_value_input,
                                    .is_run_value = arrays.is_run_value,
                                    .is_sized_by_run = is_sized_by_run,
                                    .is_after_run = arrays.is_after_run};
    return TN_OK;
}

tn_status tn_inference_find_bounds(const tn_graph *graph, const tn_inference_plan *plan,
                                   tn_arena *arena, const bool **out_bounds) {
    bool *is_bound = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_bound) return tn_fail_memory("planning the inference of shapes");
    for (size_t n = 0; plan->is_sized_by_run && n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead) continue;
        const bool is_after = tn_infer_reads(node, is_bound) ||
                              follows_run(node, plan->is_run_value, plan->is_host_node[n]);
        const bool is_exact = (node->entry->op->traits & TN_OPERATOR_EXACT) != 0;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR)
                is_bound[node->outputs[i]] = is_after || (!is_exact && !plan->is_host_node[n] &&
                                                          tn_graph_output_is_sized(node, i));
    }
    *out_bounds = is_bound;
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that decide shapes are computed while shapes are inferred, by references: right for
 * integers that follow from shapes. Where such a value follows from a layer with weights (how long
 * the speech is that a network makes of a text), all before it is a network of its own, which is
 * computed by steps of the run: floats that follow from weights, and what is made of such floats.
 * Integers that follow from those are few, and inferred once the run has them.
 */
#include "base/status.h"
#include "builder/passes/passes.h"
#include "tensor/type.h"

/* A constant with more elements than that is no table of a few lengths but a layer's weights: then
 * steps, and shapes that a run finds, cost less than references. */
enum { WEIGHT_ELEMENTS = 1024 };

static bool reads(const tn_graph_node *node, uint32_t input) {
    return node->inputs[input] != TN_NO_TENSOR &&
           !(tn_graph_input_port(node->entry->op, input)->flags & TN_PORT_SHAPE_ONLY);
}

static bool is_weights(const tn_graph_tensor *tensor) {
    size_t count = 0;
    return tensor->is_constant && tn_shape_count(&tensor->shape, &count) == TN_OK &&
           count > WEIGHT_ELEMENTS;
}

static bool is_from_weights(const tn_graph *graph, const tn_graph_node *node,
                            const bool *is_heavy) {
    bool has_weights = false, has_data = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!reads(node, i)) continue;
        const tn_graph_tensor *tensor = &graph->tensors[node->inputs[i]];
        if (is_heavy[node->inputs[i]]) return true;
        has_data = has_data || !tensor->is_constant;
        has_weights = has_weights || is_weights(tensor);
    }
    return has_weights && has_data;
}

/* By tensor: which of the values that decide shapes follow from weights. The graph is sorted. */
static bool find_heavy(const tn_graph *graph, const bool *is_host_node, bool *is_heavy) {
    bool is_any = false;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead || !is_host_node[n] || !is_from_weights(graph, node, is_heavy)) continue;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR) is_heavy[node->outputs[i]] = is_any = true;
    }
    return is_any;
}

static void mark_nodes(tn_graph *graph, const tn_inference *types, const bool *is_heavy) {
    for (size_t n = 0; n < graph->node_count; n++) {
        tn_graph_node *node = &graph->nodes[n];
        bool is_step = false;
        for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
            const bool is_output = i >= node->input_count;
            const tn_tensor_id id =
                is_output ? node->outputs[i - node->input_count] : node->inputs[i];
            if (id == TN_NO_TENSOR || !is_heavy[id] || (!is_output && !reads(node, i))) continue;
            is_step = is_step || tn_type_is_float(types->tensors[id].storage.tensor.type);
        }
        node->is_value_step = !node->is_dead && is_step;
    }
}

static tn_status mark(tn_graph *graph, const tn_inference_plan *plan, const bool *is_heavy) {
    tn_inference_plan of_types = *plan;
    tn_inference types;
    of_types.is_types_only = true;
    TN_TRY(tn_inference_init(&types, graph, &of_types));
    const tn_status status = tn_inference_run(&types, NULL, NULL);
    if (status == TN_OK) mark_nodes(graph, &types, is_heavy);
    tn_inference_deinit(&types);
    return status;
}

tn_status tn_pass_mark_value_steps(tn_graph *graph, tn_arena *arena) {
    tn_inference_plan plan;
    bool *is_heavy = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_heavy) return tn_fail_memory("a build");
    for (size_t n = 0; n < graph->node_count; n++)
        graph->nodes[n].is_value_step = false;
    TN_TRY(tn_inference_plan_create(graph, arena, &plan));
    if (!find_heavy(graph, plan.is_host_node, is_heavy)) return TN_OK;
    return mark(graph, &plan, is_heavy);
}

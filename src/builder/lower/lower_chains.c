/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: for each node, the nodes after it that could be computed by its kernel before it stores
 * its output. Which kernels really absorb how many of them, lower_candidates.c asks.
 *
 * Every link has one output, which the next link alone reads; so a chain has one way in beside its
 * head's inputs (the operands) and one way out, and doing it at once, where its last node stands in
 * the order, can close no cycle.
 */
#include "base/status.h"
#include "builder/lower/lower_private.h"

static bool is_one_output(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if ((node->outputs[i] != TN_NO_TENSOR) != (i == 0)) return false;
    return node->output_count > 0;
}

static bool makes_shape(const tn_lowering *lowering, const tn_epilogue *epilogue, tn_tensor_id from,
                        tn_tensor_id to) {
    for (int point = 0; point < 3; point++)
        if (!tn_node_call_makes_shape(epilogue,
                                      &lowering->points[point]->tensors[from].storage.shape,
                                      &lowering->points[point]->tensors[to].storage.shape))
            return false;
    return true;
}

bool tn_lower_is_same_shape(const tn_lowering *lowering, tn_tensor_id a, tn_tensor_id b) {
    for (int point = 0; point < 3; point++)
        if (!tn_shape_equal(&lowering->points[point]->tensors[a].storage.shape,
                            &lowering->points[point]->tensors[b].storage.shape))
            return false;
    return true;
}

/* The node that alone reads what `node` makes, if it may be absorbed at all. */
static uint32_t next_link(const tn_lowering *lowering, uint32_t node) {
    const tn_graph *graph = lowering->graph;
    tn_tensor_id made = graph->nodes[node].outputs[0];
    uint32_t reader = lowering->reader[made];
    if (graph->tensors[made].use_count != 1 || reader == TN_NO_NODE) return TN_NO_NODE;
    const tn_graph_node *next = &graph->nodes[reader];
    if (lowering->plan->is_host_node[reader] || !lowering->nodes[reader].is_shaped ||
        tn_lower_is_view(next) || !is_one_output(next) ||
        (tn_graph_output_port(next->entry->op, 0)->flags & TN_PORT_SIZED_BY_RUN) ||
        tn_lower_pin_of(lowering, next->entry->op) || tn_lower_node_pin_of(lowering, reader))
        return TN_NO_NODE;
    return reader;
}

static bool is_broadcast(const tn_lowering *lowering, tn_tensor_id operand, tn_tensor_id output) {
    for (int point = 0; point < 3; point++)
        if (!tn_shape_is_broadcast(&lowering->points[point]->tensors[operand].storage.shape,
                                   &lowering->points[point]->tensors[output].storage.shape))
            return false;
    return true;
}

static bool is_operand_sound(const tn_lowering *lowering, const tn_epilogue *epilogue,
                             const tn_graph_node *node) {
    if (!tn_node_call_has_operand(epilogue->kind)) return true;
    const tn_tensor_id operand = node->inputs[epilogue->operand], output = node->outputs[0];
    const bool is_same_type = lowering->types[operand] == lowering->types[output];
    if (epilogue->kind == TN_EPILOGUE_COMBINE)
        return is_same_type && is_broadcast(lowering, operand, output);
    if (epilogue->kind != TN_EPILOGUE_ADD) return lowering->graph->tensors[operand].is_constant;
    return is_same_type && tn_lower_is_same_shape(lowering, operand, output);
}

static tn_status find_chain(tn_lowering *lowering, uint32_t head) {
    const tn_graph *graph = lowering->graph;
    tn_lower_node *lowered = &lowering->nodes[head];
    uint32_t last = head;
    while (lowered->chain_count < TN_CHAIN_LIMIT) {
        tn_epilogue epilogue;
        bool is_epilogue = false;
        uint32_t next = next_link(lowering, last);
        if (next == TN_NO_NODE) break;
        TN_TRY(tn_node_call_epilogue(graph, next, graph->nodes[last].outputs[0],
                                     (const tn_tensor *const *)lowering->tensors, lowering->arena,
                                     &epilogue, &is_epilogue));
        if (!is_epilogue ||
            !makes_shape(lowering, &epilogue, graph->nodes[last].outputs[0],
                         graph->nodes[next].outputs[0]) ||
            !is_operand_sound(lowering, &epilogue, &graph->nodes[next]))
            break;
        lowered->chain[lowered->chain_count++] = next;
        last = next;
    }
    return TN_OK;
}

/* The chain as kernels see it: every shorter one is its beginning. */
static tn_status describe_chain(tn_lowering *lowering, uint32_t head) {
    tn_lower_node *lowered = &lowering->nodes[head];
    tn_program_step step = {
        .node = head, .epilogue_count = lowered->chain_count, .epilogues = lowered->chain};
    tn_tensor_id *operands = NULL;
    uint32_t operand_count = 0;
    TN_TRY(tn_program_epilogues(&step, lowering->graph, (const tn_tensor *const *)lowering->tensors,
                                lowering->arena, &lowered->epilogues, &operands, &operand_count));
    lowered->operands = operands;
    for (uint32_t i = 0; i < lowered->chain_count; i++)
        lowered->operand_counts[i + 1] =
            lowered->operand_counts[i] + tn_node_call_has_operand(lowered->epilogues[i]->kind);
    return TN_OK;
}

tn_status tn_lower_chains(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    if (lowering->options->no_fusion || lowering->options->reference_only) return TN_OK;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead || lowering->plan->is_host_node[n] || !lowering->nodes[n].is_shaped ||
            tn_lower_is_view(node) || !is_one_output(node) ||
            (tn_graph_output_port(node->entry->op, 0)->flags & TN_PORT_SIZED_BY_RUN))
            continue;
        TN_TRY(find_chain(lowering, n));
        TN_TRY(describe_chain(lowering, n));
    }
    return TN_OK;
}

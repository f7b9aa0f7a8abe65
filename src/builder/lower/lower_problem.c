/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States the choice for the whole graph as numbers for choose.h: storages by their number in
 * lowering->storages, tensors and nodes by their own.
 */
#include "base/status.h"
#include "builder/lower/lower_private.h"

#include <string.h>

static void add_use(const tn_lowering *lowering, tn_choose_use *uses, uint32_t *count,
                    tn_tensor_id tensor, tn_storage storage) {
    const uint32_t number = tn_lower_storage_number(lowering, storage);
    if (tensor == TN_NO_TENSOR) return;
    if (lowering->graph->tensors[tensor].is_constant && number == 0) return;
    uses[(*count)++] = (tn_choose_use){tensor, number};
}

static tn_status state_candidate(const tn_lowering *lowering, uint32_t index,
                                 const tn_candidate *candidate, double cost,
                                 tn_choose_candidate *out_stated) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_lower_node *lowered = &lowering->nodes[index];
    uint32_t operand_count = tn_lower_operand_count(candidate);
    tn_choose_use *inputs = tn_arena_allocate(
        lowering->arena, (size_t)node->input_count + operand_count + 1, sizeof *inputs);
    tn_choose_use *outputs =
        tn_arena_allocate(lowering->arena, (size_t)node->output_count + 1, sizeof *outputs);
    if (!inputs || !outputs) return tn_fail_memory("the choice of kernels");
    *out_stated = (tn_choose_candidate){.cost = cost,
                                        .chain_count = candidate->chain_count,
                                        .chain = lowered->chain,
                                        .inputs = inputs,
                                        .outputs = outputs};
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!(tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY))
            add_use(lowering, inputs, &out_stated->input_count, node->inputs[i],
                    candidate->inputs[i]);
    for (uint32_t i = 0; i < operand_count; i++)
        add_use(lowering, inputs, &out_stated->input_count, candidate->chain->operands[i],
                candidate->operands[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
        add_use(lowering, outputs, &out_stated->output_count,
                tn_lower_output(lowering, index, candidate, i), candidate->outputs[i]);
    return TN_OK;
}

static tn_status state_nodes(const tn_lowering *lowering, tn_choose_node *nodes) {
    static const tn_choose_candidate nothing = {0};
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        const tn_lower_node *node = &lowering->nodes[n];
        nodes[n] = (tn_choose_node){1, &nothing};
        if (lowering->graph->nodes[n].is_dead) continue;
        tn_choose_candidate *candidates =
            tn_arena_allocate(lowering->arena, node->candidate_count + 1, sizeof *candidates);
        double *costs =
            tn_arena_allocate(lowering->arena, 2 * node->candidate_count + 1, sizeof *costs);
        if (!candidates || !costs) return tn_fail_memory("the choice of kernels");
        tn_lower_level(lowering, n, costs + node->candidate_count, costs);
        for (size_t i = 0; i < node->candidate_count; i++)
            TN_TRY(state_candidate(lowering, n, &node->candidates[i], costs[i], &candidates[i]));
        nodes[n] = (tn_choose_node){(uint32_t)node->candidate_count, candidates};
    }
    return TN_OK;
}

static void state_tensors(const tn_graph *graph, tn_choose_tensor *tensors) {
    for (size_t t = 0; t < graph->tensor_count; t++) {
        bool is_given = graph->tensors[t].is_input || graph->tensors[t].is_constant;
        tensors[t] = (tn_choose_tensor){is_given ? 0 : TN_CHOOSE_NONE, TN_CHOOSE_NONE};
    }
    for (size_t i = 0; i < graph->output_count; i++)
        tensors[graph->outputs[i]].wanted = 0;
}

/* Which storages some candidate writes a tensor in, and which some candidate reads. */
static void note_storages(const tn_choose_problem *problem, uint32_t *written, uint32_t *read) {
    for (uint32_t t = 0; t < problem->tensor_count; t++) {
        written[t] = problem->tensors[t].given == TN_CHOOSE_NONE ? 0 : 1u;
        read[t] = problem->tensors[t].wanted == TN_CHOOSE_NONE ? 0 : 1u;
    }
    for (uint32_t n = 0; n < problem->node_count; n++)
        for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++) {
            const tn_choose_candidate *candidate = &problem->nodes[n].candidates[c];
            for (uint32_t i = 0; i < candidate->input_count; i++)
                read[candidate->inputs[i].tensor] |= 1u << candidate->inputs[i].storage;
            for (uint32_t i = 0; i < candidate->output_count; i++)
                written[candidate->outputs[i].tensor] |= 1u << candidate->outputs[i].storage;
        }
}

/* Costs of the conversions that some choice could need. */
static tn_status price_conversions(tn_lowering *lowering, const tn_choose_problem *problem,
                                   double *costs) {
    size_t storages = problem->storage_count;
    uint32_t *written =
        tn_arena_allocate(lowering->arena, problem->tensor_count + 1u, sizeof *written);
    uint32_t *read = tn_arena_allocate(lowering->arena, problem->tensor_count + 1u, sizeof *read);
    if (!written || !read) return tn_fail_memory("the choice of kernels");
    note_storages(problem, written, read);
    for (uint32_t t = 0; t < problem->tensor_count; t++)
        for (uint32_t from = 0; from < storages; from++)
            for (uint32_t to = 0; to < storages; to++) {
                bool is_measured = false;
                if (from == to || !(written[t] & 1u << from) || !(read[t] & 1u << to)) continue;
                TN_TRY(tn_lower_reformat_cost(
                    lowering, t, lowering->storages[from], lowering->storages[to],
                    &costs[(t * storages + from) * storages + to], &is_measured));
            }
    return TN_OK;
}

tn_status tn_lower_choose(tn_lowering *lowering, uint32_t *out_choice) {
    const tn_graph *graph = lowering->graph;
    size_t storages = lowering->storage_count, cells = 0;
    double cost = 0;
    if (!tn_mul_size(graph->tensor_count + 1, storages * storages, &cells))
        return tn_fail_memory("the choice of kernels");
    tn_choose_node *nodes =
        tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof *nodes);
    tn_choose_tensor *tensors =
        tn_arena_allocate(lowering->arena, graph->tensor_count + 1, sizeof *tensors);
    double *reformat = tn_arena_allocate(lowering->arena, cells, sizeof *reformat);
    if (!nodes || !tensors || !reformat) return tn_fail_memory("the choice of kernels");
    TN_TRY(state_nodes(lowering, nodes));
    state_tensors(graph, tensors);
    tn_choose_problem problem = {.node_count = (uint32_t)graph->node_count,
                                 .tensor_count = (uint32_t)graph->tensor_count,
                                 .storage_count = lowering->storage_count,
                                 .nodes = nodes,
                                 .tensors = tensors,
                                 .reformat = reformat};
    TN_TRY(price_conversions(lowering, &problem, reformat));
    return tn_choose(graph->allocator, &problem, false, out_choice, &cost);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States the choice for the whole graph as numbers for choose.h: storages by their number in
 * lowering, tensors and nodes by their own.
 */
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_storages.h"

#include <string.h>

static void add_use(const tn_lowering *lowering, tn_choose_use *uses, uint32_t *count,
                    tn_tensor_id tensor, tn_storage storage) {
    const uint32_t number = tn_lower_storage_number(lowering, storage);
    if (tensor == TN_NO_TENSOR) return;
    if (lowering->graph->tensors[tensor].is_constant && number == 0) return;
    uses[(*count)++] = (tn_choose_use){tensor, number};
}

/* The first node in order that a candidate does, which is the choice's owner of it. */
static uint32_t owner_of(uint32_t index, const tn_candidate *candidate) {
    return tn_lower_before_count(candidate) > 0 ? candidate->chain->nodes[0] : index;
}

/* All others, the kernel's own node where it stands among them. */
static tn_status state_chain(const tn_lowering *lowering, uint32_t index,
                             const tn_candidate *candidate, const uint32_t **out_chain) {
    const uint32_t count = candidate->chain_count, before = tn_lower_before_count(candidate);
    uint32_t *chain = tn_arena_allocate(lowering->arena, (size_t)count + 1, sizeof *chain);
    if (!chain) return tn_fail_memory("the choice of kernels");
    for (uint32_t i = 0; i < count; i++)
        chain[i] = before == 0       ? candidate->chain->nodes[i]
                   : i + 1 < before  ? candidate->chain->nodes[i + 1]
                   : i + 1 == before ? index
                                     : candidate->chain->nodes[i];
    *out_chain = chain;
    return TN_OK;
}

static tn_status state_candidate(const tn_lowering *lowering, uint32_t index,
                                 const tn_candidate *candidate, double cost,
                                 tn_choose_candidate *out_stated) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    uint32_t operand_count = tn_lower_operand_count(candidate);
    tn_choose_use *inputs = tn_arena_allocate(
        lowering->arena, (size_t)node->input_count + operand_count + 1, sizeof *inputs);
    tn_choose_use *outputs =
        tn_arena_allocate(lowering->arena, (size_t)node->output_count + 1, sizeof *outputs);
    if (!inputs || !outputs) return tn_fail_memory("the choice of kernels");
    *out_stated = (tn_choose_candidate){
        .cost = cost, .chain_count = candidate->chain_count, .inputs = inputs, .outputs = outputs};
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!(tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY))
            add_use(lowering, inputs, &out_stated->input_count,
                    tn_lower_input(lowering, index, candidate, i), candidate->inputs[i]);
    for (uint32_t i = 0; i < operand_count; i++)
        add_use(lowering, inputs, &out_stated->input_count, candidate->chain->operands[i],
                candidate->operands[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
        add_use(lowering, outputs, &out_stated->output_count,
                tn_lower_output(lowering, index, candidate, i), candidate->outputs[i]);
    return state_chain(lowering, index, candidate, &out_stated->chain);
}

/* What the choice calls a node's candidates, and whose they are. */
typedef struct stated_nodes {
    tn_choose_node *nodes;
    tn_choose_candidate **candidates; /* by owner */
    uint32_t **kernel_nodes, **numbers;
} stated_nodes;

static tn_status allocate_nodes(const tn_lowering *lowering, stated_nodes *stated) {
    static const tn_choose_candidate nothing = {0};
    const size_t count = lowering->graph->node_count;
    size_t *owned = tn_arena_allocate(lowering->arena, count + 1, sizeof *owned);
    stated->nodes = tn_arena_allocate(lowering->arena, count + 1, sizeof *stated->nodes);
    stated->candidates = tn_arena_allocate(lowering->arena, count + 1, sizeof *stated->candidates);
    stated->kernel_nodes =
        tn_arena_allocate(lowering->arena, count + 1, sizeof *stated->kernel_nodes);
    stated->numbers = tn_arena_allocate(lowering->arena, count + 1, sizeof *stated->numbers);
    if (!owned || !stated->nodes || !stated->candidates || !stated->kernel_nodes ||
        !stated->numbers)
        return tn_fail_memory("the choice of kernels");
    for (uint32_t n = 0; n < count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++)
            owned[owner_of(n, &lowering->nodes[n].candidates[i])]++;
    for (uint32_t n = 0; n < count; n++) {
        stated->nodes[n] = (tn_choose_node){1, &nothing};
        if (lowering->graph->nodes[n].is_dead) continue;
        stated->candidates[n] =
            tn_arena_allocate(lowering->arena, owned[n] + 1, sizeof **stated->candidates);
        stated->kernel_nodes[n] =
            tn_arena_allocate(lowering->arena, owned[n] + 1, sizeof **stated->kernel_nodes);
        stated->numbers[n] =
            tn_arena_allocate(lowering->arena, owned[n] + 1, sizeof **stated->numbers);
        if (!stated->candidates[n] || !stated->kernel_nodes[n] || !stated->numbers[n])
            return tn_fail_memory("the choice of kernels");
        stated->nodes[n] = (tn_choose_node){0, stated->candidates[n]};
    }
    return TN_OK;
}

static tn_status state_node(const tn_lowering *lowering, uint32_t index, stated_nodes *stated) {
    const tn_lower_node *node = &lowering->nodes[index];
    double *costs =
        tn_arena_allocate(lowering->arena, 2 * node->candidate_count + 1, sizeof *costs);
    if (!costs) return tn_fail_memory("the choice of kernels");
    tn_lower_level(lowering, index, costs + node->candidate_count, costs);
    for (uint32_t i = 0; i < node->candidate_count; i++) {
        const uint32_t owner = owner_of(index, &node->candidates[i]);
        const uint32_t at = stated->nodes[owner].candidate_count++;
        const double cost = tn_lower_trials_cost(lowering, index, i, costs[i]) +
                            tn_lower_made_cost(lowering, index, &node->candidates[i]);
        TN_TRY(state_candidate(lowering, index, &node->candidates[i], cost,
                               &stated->candidates[owner][at]));
        stated->kernel_nodes[owner][at] = index;
        stated->numbers[owner][at] = i;
    }
    return TN_OK;
}

static tn_status state_nodes(const tn_lowering *lowering, stated_nodes *stated) {
    TN_TRY(allocate_nodes(lowering, stated));
    for (uint32_t n = 0; n < lowering->graph->node_count; n++)
        if (!lowering->graph->nodes[n].is_dead) TN_TRY(state_node(lowering, n, stated));
    return TN_OK;
}

/* From the owners' candidates to those of the kernels' nodes: a kernel's node is in its owner's
 * chain, and comes after it. */
static void give_to_kernels(const tn_lowering *lowering, const stated_nodes *stated,
                            uint32_t *choice) {
    for (uint32_t n = (uint32_t)lowering->graph->node_count; n-- > 0;) {
        if (lowering->graph->nodes[n].is_dead || choice[n] == TN_CHOOSE_NONE) continue;
        const uint32_t at = choice[n], kernel_node = stated->kernel_nodes[n][at];
        choice[n] = TN_CHOOSE_NONE;
        choice[kernel_node] = stated->numbers[n][at];
    }
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

/* Those of another type than the tensors' own, or of the least exact one alone. */
static uint32_t lower_storages(const tn_lowering *lowering, bool is_lowest) {
    uint32_t storages = 0;
    for (uint32_t s = 0; s < tn_lower_storage_count(lowering); s++) {
        const tn_type type = tn_lower_storage_at(lowering, s).type;
        if (type != TN_NONE && (!is_lowest || type == lowering->precision->lower_type))
            storages |= 1u << s;
    }
    return storages;
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
                double *cost = &costs[(t * storages + from) * storages + to];
                if (from == to || !(written[t] & 1u << from) || !(read[t] & 1u << to)) continue;
                TN_TRY(tn_lower_trials_reformat_cost(lowering, t, from, to, cost));
            }
    return TN_OK;
}

/* The kernel that a number of an owner's stands for, if it uses OpenMP; else null. */
static const tn_kernel *openmp_kernel(const tn_lowering *lowering, const stated_nodes *stated,
                                      uint32_t owner, uint32_t at) {
    const tn_lower_node *node = &lowering->nodes[stated->kernel_nodes[owner][at]];
    const tn_kernel_entry *entry = node->candidates[stated->numbers[owner][at]].entry;
    return entry && entry->kernel->traits & TN_KERNEL_OPENMP ? entry->kernel : NULL;
}

/* Whether a choice has kernels that use OpenMP; makes all of them as good as impossible. */
static bool leave_out_openmp(const tn_lowering *lowering, const stated_nodes *stated,
                             const uint32_t *choice, tn_lower_openmp *out_openmp) {
    bool has = false;
    *out_openmp = (tn_lower_openmp){0};
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        if (lowering->graph->nodes[n].is_dead) continue;
        out_openmp->steps += choice[n] != TN_CHOOSE_NONE;
        for (uint32_t i = 0; i < stated->nodes[n].candidate_count; i++) {
            const tn_kernel *kernel = openmp_kernel(lowering, stated, n, i);
            if (!kernel) continue;
            stated->candidates[n][i].cost = tn_lower_left_out_cost();
            if (choice[n] != i) continue;
            has = true;
            out_openmp->made +=
                kernel->prepare &&
                tn_lower_is_made_again(lowering, stated->kernel_nodes[n][i], kernel);
        }
    }
    return has;
}

/* The best choice, or the best one without OpenMP's kernels if it is about as good. */
static tn_status choose_best(const tn_lowering *lowering, const stated_nodes *stated,
                             const tn_choose_problem *problem, uint32_t *out_choice) {
    const tn_allocator *allocator = lowering->graph->allocator;
    double cost = 0, without_cost = 0;
    tn_lower_openmp openmp;
    uint32_t *without =
        tn_arena_allocate(lowering->arena, problem->node_count + 1u, sizeof *without);
    if (!without) return tn_fail_memory("the choice of kernels");
    TN_TRY(tn_choose(allocator, problem, false, out_choice, &cost));
    if (!leave_out_openmp(lowering, stated, out_choice, &openmp)) return TN_OK;
    TN_TRY(tn_choose(allocator, problem, false, without, &without_cost));
    if (!tn_lower_is_worth_openmp(lowering, &openmp, cost, without_cost))
        memcpy(out_choice, without, problem->node_count * sizeof *without);
    return TN_OK;
}

tn_status tn_lower_choose(tn_lowering *lowering, uint32_t *out_choice) {
    const tn_graph *graph = lowering->graph;
    size_t storages = tn_lower_storage_count(lowering), cells = 0;
    if (!tn_mul_size(graph->tensor_count + 1, storages * storages, &cells))
        return tn_fail_memory("the choice of kernels");
    stated_nodes stated = {0};
    tn_choose_tensor *tensors =
        tn_arena_allocate(lowering->arena, graph->tensor_count + 1, sizeof *tensors);
    double *reformat = tn_arena_allocate(lowering->arena, cells, sizeof *reformat);
    if (!tensors || !reformat) return tn_fail_memory("the choice of kernels");
    TN_TRY(state_nodes(lowering, &stated));
    state_tensors(graph, tensors);
    tn_choose_problem problem = {.node_count = (uint32_t)graph->node_count,
                                 .tensor_count = (uint32_t)graph->tensor_count,
                                 .storage_count = tn_lower_storage_count(lowering),
                                 .nodes = stated.nodes,
                                 .tensors = tensors,
                                 .reformat = reformat,
                                 .is_coarse = tn_lower_is_by_estimates(lowering),
                                 .lower_storages = lower_storages(lowering, false),
                                 .lowest_storages = lower_storages(lowering, true)};
    TN_TRY(price_conversions(lowering, &problem, reformat));
    TN_TRY(choose_best(lowering, &stated, &problem, out_choice));
    give_to_kernels(lowering, &stated, out_choice);
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice for a whole graph: what one costs, and which of the two search algorithms is taken.
 * choose_reduce.c leaves the candidates that can be in a best one; choose_search.c descends from
 * several starts; choose_exact.c then proves or betters the answer where the problem is small.
 */
#include "base/status.h"
#include "builder/choose/choose.h"

#include <math.h>
#include <string.h>

static uint32_t written_storage(const tn_choose_problem *problem, const uint32_t *choice,
                                uint32_t tensor) {
    for (uint32_t n = 0; n < problem->node_count; n++) {
        if (choice[n] == TN_CHOOSE_NONE) continue;
        const tn_choose_candidate *candidate = &problem->nodes[n].candidates[choice[n]];
        for (uint32_t i = 0; i < candidate->output_count; i++)
            if (candidate->outputs[i].tensor == tensor) return candidate->outputs[i].storage;
    }
    return problem->tensors[tensor].given;
}

static uint32_t read_storages(const tn_choose_problem *problem, const uint32_t *choice,
                              uint32_t tensor) {
    uint32_t wanted = problem->tensors[tensor].wanted;
    uint32_t storages = wanted == TN_CHOOSE_NONE ? 0 : 1u << wanted;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        if (choice[n] == TN_CHOOSE_NONE) continue;
        const tn_choose_candidate *candidate = &problem->nodes[n].candidates[choice[n]];
        for (uint32_t i = 0; i < candidate->input_count; i++)
            if (candidate->inputs[i].tensor == tensor)
                storages |= 1u << candidate->inputs[i].storage;
    }
    return storages;
}

double tn_choose_cost(const tn_choose_problem *problem, const uint32_t *choice) {
    double cost = 0;
    size_t storages = problem->storage_count;
    for (uint32_t n = 0; n < problem->node_count; n++)
        if (choice[n] != TN_CHOOSE_NONE) cost += problem->nodes[n].candidates[choice[n]].cost;
    for (uint32_t t = 0; t < problem->tensor_count; t++) {
        uint32_t from = written_storage(problem, choice, t),
                 read = read_storages(problem, choice, t);
        if (from == TN_CHOOSE_NONE) continue;
        for (uint32_t to = 0; to < problem->storage_count; to++)
            if (to != from && read & 1u << to)
                cost += problem->reformat[(t * storages + from) * storages + to];
    }
    return cost;
}

/* Whether each node can be done by itself. */
static bool is_solvable(const tn_choose_problem *problem) {
    for (uint32_t n = 0; n < problem->node_count; n++) {
        uint32_t alone = 0;
        for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++)
            alone += problem->nodes[n].candidates[c].chain_count == 0;
        if (alone == 0) return false;
    }
    return true;
}

/* The cost is INFINITY where nodes have no candidate without the storages `left_out`. */
static tn_status choose_reduced(const tn_allocator *allocator, tn_arena *arena,
                                const tn_choose_problem *whole, uint32_t left_out,
                                bool is_local_only, uint32_t *out_choice, double *out_cost) {
    tn_choose_problem problem;
    uint32_t **numbers;
    double cost = 0;
    TN_TRY(tn_choose_reduce(arena, whole, left_out, &problem, &numbers));
    *out_cost = INFINITY;
    if (left_out && !is_solvable(&problem)) return TN_OK;
    TN_TRY(tn_choose_search(allocator, &problem, out_choice, &cost));
    if (!is_local_only) TN_TRY(tn_choose_exact(allocator, &problem, out_choice, &cost));
    for (uint32_t n = 0; n < whole->node_count; n++)
        if (out_choice[n] != TN_CHOOSE_NONE) out_choice[n] = numbers[n][out_choice[n]];
    *out_cost = cost;
    return TN_OK;
}

/* More candidates may lead a local search astray: where it ends above the end of that without some
 * storages, that one counts. */
static tn_status bound_by_wide(const tn_allocator *allocator, tn_arena *arena,
                               const tn_choose_problem *problem, uint32_t left_out,
                               bool is_local_only, uint32_t *out_choice, double *out_cost) {
    double cost = INFINITY;
    uint32_t *choice = tn_arena_allocate(arena, problem->node_count + 1u, sizeof *choice);
    if (!choice) return tn_fail_memory("the choice of kernels");
    TN_TRY(choose_reduced(allocator, arena, problem, left_out, is_local_only, choice, &cost));
    if (cost >= *out_cost) return TN_OK;
    *out_cost = cost;
    memcpy(out_choice, choice, problem->node_count * sizeof *choice);
    return TN_OK;
}

tn_status tn_choose(const tn_allocator *allocator, const tn_choose_problem *problem,
                    bool is_local_only, uint32_t *out_choice, double *out_cost) {
    tn_arena *arena;
    TN_TRY(tn_arena_create(allocator, &arena));
    tn_status status =
        choose_reduced(allocator, arena, problem, 0, is_local_only, out_choice, out_cost);
    const uint32_t left_out[2] = {problem->lower_storages, problem->lowest_storages};
    for (int i = 0; i < 2 && status == TN_OK; i++)
        if (left_out[i] && (i == 0 || left_out[i] != left_out[0]))
            status = bound_by_wide(allocator, arena, problem, left_out[i], is_local_only,
                                   out_choice, out_cost);
    tn_arena_destroy(arena);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice for a whole graph: what one costs, and which of the two search algorithms is
 * taken. choose_search.c descends from several starts; choose_exact.c then proves or betters the
 * answer where the problem is small.
 */
#include "builder/choose/choose.h"

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

tn_status tn_choose(const tn_allocator *allocator, const tn_choose_problem *problem,
                    bool is_local_only, uint32_t *out_choice, double *out_cost) {
    double cost = 0;
    tn_status status = tn_choose_search(allocator, problem, out_choice, &cost);
    if (status != TN_OK) return status;
    if (!is_local_only) status = tn_choose_exact(allocator, problem, out_choice, &cost);
    if (status == TN_OK) *out_cost = cost;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch and bound for the choice of a small graph: node by node in order, every candidate, cut
 * where the cost so far and the least that the rest can cost are no better than the best known
 * choice. Begins with the answer of choose_search.c, and keeps it when the count of steps runs out.
 */
#include "builder/choose/choose.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Estimates, which a coarse problem is of, are not worth 20 ms of search. */
enum { NODE_LIMIT = 24, STEP_LIMIT = 400000, COARSE_STEP_LIMIT = 20000 };

typedef struct tensor_state {
    uint32_t tensor, from, read;
} tensor_state;

typedef struct exact_search {
    const tn_choose_problem *problem;
    uint32_t *choice, *from, *read; /* from, read: by tensor, its storage and who reads which */
    bool *is_covered;
    double *share; /* by node: the least that its work costs, whoever does it */
    uint32_t *best_choice;
    double best_cost;
    tensor_state *undo;
    size_t undo_count;
    uint32_t steps, step_limit;
} exact_search;

static const tn_choose_candidate *candidate_of(const exact_search *exact, uint32_t node,
                                               uint32_t choice) {
    return &exact->problem->nodes[node].candidates[choice];
}

static void remember(exact_search *exact, uint32_t tensor) {
    exact->undo[exact->undo_count++] =
        (tensor_state){tensor, exact->from[tensor], exact->read[tensor]};
}

static double conversion(const exact_search *exact, uint32_t tensor, uint32_t from, uint32_t to) {
    size_t storages = exact->problem->storage_count;
    return from == to ? 0 : exact->problem->reformat[(tensor * storages + from) * storages + to];
}

/* Notes what a candidate reads and writes; answers the conversions that this adds. */
static double enter(exact_search *exact, const tn_choose_candidate *candidate) {
    double added = 0;
    for (uint32_t i = 0; i < candidate->input_count; i++) {
        tn_choose_use use = candidate->inputs[i];
        if (exact->read[use.tensor] & 1u << use.storage) continue;
        remember(exact, use.tensor);
        exact->read[use.tensor] |= 1u << use.storage;
        if (exact->from[use.tensor] != TN_CHOOSE_NONE)
            added += conversion(exact, use.tensor, exact->from[use.tensor], use.storage);
    }
    for (uint32_t i = 0; i < candidate->output_count; i++) {
        tn_choose_use use = candidate->outputs[i];
        remember(exact, use.tensor);
        exact->from[use.tensor] = use.storage;
        for (uint32_t to = 0; to < exact->problem->storage_count; to++)
            if (exact->read[use.tensor] & 1u << to)
                added += conversion(exact, use.tensor, use.storage, to);
    }
    return added;
}

static void leave(exact_search *exact, size_t undo_count) {
    while (exact->undo_count > undo_count) {
        const tensor_state *state = &exact->undo[--exact->undo_count];
        exact->from[state->tensor] = state->from;
        exact->read[state->tensor] = state->read;
    }
}

static void cover(exact_search *exact, uint32_t node, const tn_choose_candidate *candidate,
                  bool is_on) {
    exact->is_covered[node] = is_on;
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        exact->is_covered[candidate->chain[i]] = is_on;
}

static bool is_free(const exact_search *exact, const tn_choose_candidate *candidate) {
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        if (exact->is_covered[candidate->chain[i]]) return false;
    return true;
}

static double least_rest(const exact_search *exact, uint32_t node) {
    double rest = 0;
    for (uint32_t n = node; n < exact->problem->node_count; n++)
        if (!exact->is_covered[n]) rest += exact->share[n];
    return rest;
}

/* A chain's nodes come after its head, so the first node that nobody does must be a head. Depth: at
 * most NODE_LIMIT. */
static void visit(exact_search *exact, uint32_t node, double cost) {
    const tn_choose_problem *problem = exact->problem;
    while (node < problem->node_count && exact->is_covered[node])
        node++;
    if (cost + least_rest(exact, node) >= exact->best_cost - 1e-9 * fabs(exact->best_cost)) return;
    if (node == problem->node_count) {
        exact->best_cost = cost;
        memcpy(exact->best_choice, exact->choice, problem->node_count * sizeof *exact->choice);
        return;
    }
    for (uint32_t c = 0; c < problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = candidate_of(exact, node, c);
        if (!is_free(exact, candidate) || ++exact->steps > exact->step_limit) continue;
        size_t undo_count = exact->undo_count;
        exact->choice[node] = c;
        cover(exact, node, candidate, true);
        visit(exact, node + 1, cost + candidate->cost + enter(exact, candidate));
        leave(exact, undo_count);
        cover(exact, node, candidate, false);
        exact->choice[node] = TN_CHOOSE_NONE;
    }
}

static void share_costs(exact_search *exact) {
    const tn_choose_problem *problem = exact->problem;
    for (uint32_t n = 0; n < problem->node_count; n++)
        exact->share[n] = INFINITY;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++) {
            const tn_choose_candidate *candidate = candidate_of(exact, n, c);
            double share = candidate->cost / (candidate->chain_count + 1.0);
            for (uint32_t i = 0; i <= candidate->chain_count; i++) {
                double *least = &exact->share[i == 0 ? n : candidate->chain[i - 1]];
                if (share < *least) *least = share;
            }
        }
    }
}

static size_t most_uses(const tn_choose_problem *problem) {
    size_t sum = 0;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        size_t most = 0;
        for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++) {
            const tn_choose_candidate *candidate = &problem->nodes[n].candidates[c];
            size_t uses = (size_t)candidate->input_count + candidate->output_count;
            if (uses > most) most = uses;
        }
        sum += most;
    }
    return sum;
}

tn_status tn_choose_exact(const tn_allocator *allocator, const tn_choose_problem *problem,
                          uint32_t *choice, double *cost) {
    exact_search exact = {.problem = problem,
                          .best_choice = choice,
                          .best_cost = *cost,
                          .step_limit = problem->is_coarse ? COARSE_STEP_LIMIT : STEP_LIMIT};
    tn_arena *arena = NULL;
    size_t nodes = (size_t)problem->node_count + 1, tensors = (size_t)problem->tensor_count + 1;
    if (problem->node_count > NODE_LIMIT) return TN_OK;
    TN_TRY(tn_arena_create(allocator, &arena));
    exact.choice = tn_arena_allocate(arena, nodes, sizeof *exact.choice);
    exact.is_covered = tn_arena_allocate(arena, nodes, sizeof *exact.is_covered);
    exact.share = tn_arena_allocate(arena, nodes, sizeof *exact.share);
    exact.from = tn_arena_allocate(arena, tensors, sizeof *exact.from);
    exact.read = tn_arena_allocate(arena, tensors, sizeof *exact.read);
    exact.undo = tn_arena_allocate(arena, most_uses(problem) + 1, sizeof *exact.undo);
    if (!exact.choice || !exact.is_covered || !exact.share || !exact.from || !exact.read ||
        !exact.undo) {
        tn_arena_destroy(arena);
        return tn_fail_memory("the choice of kernels");
    }
    double given = 0;
    for (uint32_t t = 0; t < problem->tensor_count; t++) {
        const tn_choose_tensor *ends = &problem->tensors[t];
        exact.from[t] = ends->given;
        exact.read[t] = ends->wanted == TN_CHOOSE_NONE ? 0 : 1u << ends->wanted;
        if (ends->given != TN_CHOOSE_NONE && ends->wanted != TN_CHOOSE_NONE)
            given += conversion(&exact, t, ends->given, ends->wanted);
    }
    for (uint32_t n = 0; n < problem->node_count; n++)
        exact.choice[n] = TN_CHOOSE_NONE;
    share_costs(&exact);
    visit(&exact, 0, given);
    *cost = tn_choose_cost(problem, choice);
    tn_arena_destroy(arena);
    return TN_OK;
}

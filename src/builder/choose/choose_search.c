/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local search for the choice of a whole graph: descends from a greedy start and from one start a
 * storage ("everything channel-blocked"), by changing one node at a time and all readers of a
 * tensor, and from the best end by changing pairs of neighbours, too.
 */
#include "base/status.h"
#include "builder/choose/choice_state.h"

#include <math.h>
#include <string.h>

/* Tries of one descent in pairs: bounds the time for very large graphs. */
enum { PAIR_TRY_LIMIT = 2000000, ROUND_LIMIT = 50 };
/* Of those who use a tensor as well, so many before a node and after it are its neighbours. */
enum { NEIGHBOUR_LIMIT = 8 };

static bool is_better(double cost, double than) {
    return cost < than - 1e-9 * fabs(than);
}

static tn_status improve_nodes(tn_choice_state *state, bool *out_improved) {
    for (uint32_t n = 0; n < state->problem->node_count; n++) {
        for (uint32_t c = 0; c < state->problem->nodes[n].candidate_count; c++) {
            if (state->choice[n] == c) continue;
            double before = state->total;
            size_t mark = state->log_count;
            if (tn_choice_least(state, n, c) >= before) continue;
            TN_TRY(tn_choice_apply(state, n, c));
            if (is_better(state->total, before))
                *out_improved = true;
            else
                tn_choice_rollback(state, mark, before);
        }
    }
    state->log_count = 0; /* what was kept needs no undoing */
    return TN_OK;
}

static bool reads_in(const tn_choose_candidate *candidate, uint32_t tensor, uint32_t storage) {
    bool is_read = false;
    for (uint32_t i = 0; i < candidate->input_count; i++) {
        if (candidate->inputs[i].tensor != tensor) continue;
        if (candidate->inputs[i].storage != storage) return false;
        is_read = true;
    }
    return is_read;
}

/* The cheapest candidate of a head that reads the tensor so and has as long a chain as now;
 * TN_CHOOSE_NONE. */
static uint32_t cheapest_reader(const tn_choice_state *state, uint32_t node, uint32_t tensor,
                                uint32_t storage) {
    uint32_t cheapest = TN_CHOOSE_NONE;
    if (state->owner[node] != node) return TN_CHOOSE_NONE;
    const tn_choose_candidate *now = tn_choice_candidate(state, node, state->choice[node]);
    for (uint32_t c = 0; c < state->problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = tn_choice_candidate(state, node, c);
        if (candidate->chain_count == now->chain_count && reads_in(candidate, tensor, storage) &&
            (cheapest == TN_CHOOSE_NONE ||
             candidate->cost < tn_choice_candidate(state, node, cheapest)->cost))
            cheapest = c;
    }
    return cheapest;
}

/* A conversion that is not worth it for one reader, or for two, may be for all of them. */
static tn_status improve_readers(tn_choice_state *state, bool *out_improved) {
    const tn_choice_lists *lists = &state->readers;
    for (uint32_t t = 0; t < state->problem->tensor_count; t++) {
        if (lists->first[t + 1] - lists->first[t] < 3) continue; /* pairs are tried anyway */
        for (uint32_t storage = 0; storage < state->problem->storage_count; storage++) {
            const double before = state->total;
            const size_t mark = state->log_count;
            for (uint32_t k = lists->first[t]; k < lists->first[t + 1]; k++) {
                const uint32_t n = lists->items[k], c = cheapest_reader(state, n, t, storage);
                if (c != TN_CHOOSE_NONE && c != state->choice[n])
                    TN_TRY(tn_choice_apply(state, n, c));
            }
            if (is_better(state->total, before))
                *out_improved = true;
            else
                tn_choice_rollback(state, mark, before);
        }
    }
    state->log_count = 0;
    return TN_OK;
}

/* With node n changed already: tries every candidate of a neighbour. True answers keep both. */
static tn_status improve_neighbour(tn_choice_state *state, uint32_t neighbour, uint32_t node,
                                   double before, bool *out_improved) {
    for (uint32_t c = 0; c < state->problem->nodes[neighbour].candidate_count; c++) {
        if (state->choice[neighbour] == c || neighbour == node) continue;
        double with_one = state->total;
        size_t mark = state->log_count;
        state->pair_tries++;
        if (tn_choice_least(state, neighbour, c) >= before) continue;
        TN_TRY(tn_choice_apply(state, neighbour, c));
        if (is_better(state->total, before)) {
            *out_improved = true;
            return TN_OK;
        }
        tn_choice_rollback(state, mark, with_one);
    }
    return TN_OK;
}

/* The nodes of a tensor's list near a node; lists are sorted. */
static void find_near(const tn_choice_lists *lists, uint32_t tensor, uint32_t node,
                      uint32_t *out_begin, uint32_t *out_end) {
    uint32_t low = lists->first[tensor], high = lists->first[tensor + 1];
    const uint32_t first = low, end = high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (lists->items[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    *out_begin = low - first > NEIGHBOUR_LIMIT ? low - NEIGHBOUR_LIMIT : first;
    *out_end = end - low > NEIGHBOUR_LIMIT + 1 ? low + NEIGHBOUR_LIMIT + 1 : end;
}

static tn_status improve_around(tn_choice_state *state, uint32_t node, uint32_t choice,
                                double before, bool *out_improved) {
    const tn_choose_candidate *candidate = tn_choice_candidate(state, node, choice);
    for (uint32_t i = 0; i < candidate->input_count + candidate->output_count; i++) {
        bool is_input = i < candidate->input_count;
        uint32_t tensor = is_input ? candidate->inputs[i].tensor
                                   : candidate->outputs[i - candidate->input_count].tensor;
        for (int side = 0; side < 2; side++) {
            const tn_choice_lists *lists = side == 0 ? &state->writers : &state->readers;
            uint32_t begin = 0, end = 0;
            find_near(lists, tensor, node, &begin, &end);
            for (uint32_t k = begin; k < end; k++) {
                TN_TRY(improve_neighbour(state, lists->items[k], node, before, out_improved));
                if (*out_improved) return TN_OK;
            }
        }
    }
    return TN_OK;
}

static tn_status improve_pairs(tn_choice_state *state, bool *out_improved) {
    for (uint32_t n = 0; n < state->problem->node_count; n++) {
        for (uint32_t c = 0; c < state->problem->nodes[n].candidate_count; c++) {
            if (state->choice[n] == c || state->pair_tries > PAIR_TRY_LIMIT) continue;
            double before = state->total;
            size_t mark = state->log_count;
            bool has_improved = false;
            TN_TRY(tn_choice_apply(state, n, c));
            TN_TRY(improve_around(state, n, c, before, &has_improved));
            if (has_improved)
                *out_improved = true;
            else
                tn_choice_rollback(state, mark, before);
        }
    }
    state->log_count = 0;
    return TN_OK;
}

static tn_status descend(tn_choice_state *state, bool with_pairs) {
    state->pair_tries = 0;
    for (int round = 0; round < ROUND_LIMIT; round++) {
        bool has_improved = false;
        TN_TRY(improve_nodes(state, &has_improved));
        if (!has_improved) TN_TRY(improve_readers(state, &has_improved));
        if (!has_improved && with_pairs) TN_TRY(improve_pairs(state, &has_improved));
        if (!has_improved) break;
    }
    return TN_OK;
}

static bool uses_only(const tn_choose_candidate *candidate, uint32_t storage) {
    for (uint32_t i = 0; i < candidate->input_count; i++)
        if (candidate->inputs[i].storage != storage) return false;
    for (uint32_t i = 0; i < candidate->output_count; i++)
        if (candidate->outputs[i].storage != storage) return false;
    return true;
}

static double cheapest_single(const tn_choice_state *state, uint32_t node) {
    double cheapest = INFINITY;
    for (uint32_t c = 0; c < state->problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = tn_choice_candidate(state, node, c);
        if (candidate->chain_count == 0 && candidate->cost < cheapest) cheapest = candidate->cost;
    }
    return cheapest;
}

static bool can_cover(const tn_choice_state *state, const tn_choose_candidate *candidate) {
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        if (state->owner[candidate->chain[i]] != TN_CHOOSE_NONE) return false;
    return true;
}

/* The candidate that adds least, a chain's nodes counted as saved; those that use nothing but
 * `storage` go first, where there are any. */
static tn_status start_node(tn_choice_state *state, uint32_t node, uint32_t storage) {
    uint32_t best = TN_CHOOSE_NONE;
    bool is_best_uniform = false;
    double best_added = INFINITY, before = state->total;
    size_t mark = state->log_count;
    for (uint32_t c = 0; c < state->problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = tn_choice_candidate(state, node, c);
        if (!can_cover(state, candidate)) continue;
        bool is_uniform = storage != TN_CHOOSE_NONE && uses_only(candidate, storage);
        TN_TRY(tn_choice_set_head(state, node, c));
        TN_TRY(tn_choice_refresh(state));
        double added = state->total - before;
        tn_choice_rollback(state, mark, before);
        for (uint32_t i = 0; i < candidate->chain_count; i++)
            added -= cheapest_single(state, candidate->chain[i]);
        if (best == TN_CHOOSE_NONE || (is_uniform && !is_best_uniform) ||
            (is_uniform == is_best_uniform && added < best_added)) {
            best = c;
            best_added = added;
            is_best_uniform = is_uniform;
        }
    }
    TN_TRY(tn_choice_set_head(state, node, best));
    return tn_choice_refresh(state);
}

static tn_status start_search(tn_choice_state *state, uint32_t storage) {
    tn_choice_clear(state);
    for (uint32_t n = 0; n < state->problem->node_count; n++)
        if (state->owner[n] == TN_CHOOSE_NONE) TN_TRY(start_node(state, n, storage));
    state->log_count = 0;
    return TN_OK;
}

/* Whether a start in this storage alone can differ from the greedy one. */
static bool has_uniform(const tn_choose_problem *problem, uint32_t storage) {
    for (uint32_t n = 0; n < problem->node_count; n++)
        for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++)
            if (uses_only(&problem->nodes[n].candidates[c], storage)) return true;
    return false;
}

static tn_status start_at(tn_choice_state *state, const uint32_t *choice) {
    tn_choice_clear(state);
    for (uint32_t n = 0; n < state->problem->node_count; n++)
        if (choice[n] != TN_CHOOSE_NONE) TN_TRY(tn_choice_set_head(state, n, choice[n]));
    TN_TRY(tn_choice_refresh(state));
    state->log_count = 0;
    return TN_OK;
}

static void keep_choice(const tn_choice_state *state, uint32_t *out_choice) {
    if (state->problem->node_count > 0)
        memcpy(out_choice, state->choice, state->problem->node_count * sizeof *out_choice);
}

/* Pairs are tried from the best end alone: they take hundreds of times as long as all else, and
 * the ends of other starts are seldom better with them. */
tn_status tn_choose_search(const tn_allocator *allocator, const tn_choose_problem *problem,
                           uint32_t *out_choice, double *out_cost) {
    tn_choice_state state = {0};
    double best = INFINITY;
    tn_status status = tn_choice_state_init(&state, allocator, problem);
    for (uint32_t s = 0; status == TN_OK && s <= problem->storage_count; s++) {
        if (s > 0 && !has_uniform(problem, s - 1)) continue;
        TN_GO(start_search(&state, s == 0 ? TN_CHOOSE_NONE : s - 1));
        TN_GO(descend(&state, false));
        if (s > 0 && !is_better(state.total, best)) continue;
        best = state.total;
        keep_choice(&state, out_choice);
    }
    if (status == TN_OK && !problem->is_coarse) {
        TN_GO(start_at(&state, out_choice));
        TN_GO(descend(&state, true));
        keep_choice(&state, out_choice);
    }
    if (status == TN_OK) *out_cost = tn_choose_cost(problem, out_choice);
done:
    tn_choice_state_deinit(&state);
    return status;
}

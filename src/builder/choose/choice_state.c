/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a search for a choice: see choice_state.h. */
#include "builder/choose/choice_state.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Collects (tensor, node) pairs of all candidates, each pair once. */
static tn_status make_lists(tn_choice_state *state, bool of_inputs, tn_choice_lists *out_lists) {
    const tn_choose_problem *problem = state->problem;
    uint32_t *first =
        tn_arena_allocate(state->arena, (size_t)problem->tensor_count + 2, sizeof *first);
    uint32_t *seen =
        tn_arena_allocate(state->arena, (size_t)problem->tensor_count + 1, sizeof *seen);
    uint32_t *items = NULL;
    if (!first || !seen) return tn_fail_memory("the choice of kernels");
    for (int pass = 0; pass < 2; pass++) {
        memset(seen, 0, problem->tensor_count * sizeof *seen);
        for (uint32_t n = 0; n < problem->node_count; n++) {
            for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++) {
                const tn_choose_candidate *candidate = tn_choice_candidate(state, n, c);
                uint32_t count = of_inputs ? candidate->input_count : candidate->output_count;
                const tn_choose_use *uses = of_inputs ? candidate->inputs : candidate->outputs;
                for (uint32_t i = 0; i < count; i++) {
                    if (seen[uses[i].tensor] == n + 1) continue;
                    seen[uses[i].tensor] = n + 1;
                    if (items)
                        items[first[uses[i].tensor + 1]++] = n;
                    else
                        first[uses[i].tensor + 2]++;
                }
            }
        }
        if (pass == 1) break;
        for (uint32_t t = 0; t < problem->tensor_count; t++)
            first[t + 2] += first[t + 1];
        items = tn_arena_allocate(state->arena, (size_t)first[problem->tensor_count + 1] + 1,
                                  sizeof *items);
        if (!items) return tn_fail_memory("the choice of kernels");
    }
    out_lists->first = first;
    out_lists->items = items;
    return TN_OK;
}

static tn_status log_add(tn_choice_state *state, tn_choice_change entry) {
    TN_TRY(tn_grow(state->allocator, (void **)&state->log, &state->log_capacity,
                   state->log_count + 1, sizeof *state->log));
    state->log[state->log_count++] = entry;
    return TN_OK;
}

/* Adds `by` for each use of a head's candidate; wraps around for less. */
static void count_uses(tn_choice_state *state, uint32_t node, uint32_t by) {
    const size_t storages = state->problem->storage_count;
    if (state->owner[node] != node) return;
    const tn_choose_candidate *candidate = tn_choice_candidate(state, node, state->choice[node]);
    for (uint32_t i = 0; i < candidate->input_count; i++)
        state->reads[candidate->inputs[i].tensor * storages + candidate->inputs[i].storage] += by;
    for (uint32_t i = 0; i < candidate->output_count; i++)
        state->writes[candidate->outputs[i].tensor * storages + candidate->outputs[i].storage] +=
            by;
}

static void change_node(tn_choice_state *state, uint32_t node, uint32_t choice, uint32_t owner) {
    count_uses(state, node, UINT32_MAX);
    state->choice[node] = choice;
    state->owner[node] = owner;
    count_uses(state, node, 1);
}

static tn_status set_node(tn_choice_state *state, uint32_t node, uint32_t choice, uint32_t owner) {
    TN_TRY(log_add(state, (tn_choice_change){.index = node,
                                             .choice = state->choice[node],
                                             .owner = state->owner[node]}));
    change_node(state, node, choice, owner);
    return TN_OK;
}

static void mark_dirty(tn_choice_state *state, const tn_choose_candidate *candidate) {
    for (uint32_t i = 0; i < candidate->input_count + candidate->output_count; i++) {
        uint32_t tensor = i < candidate->input_count
                              ? candidate->inputs[i].tensor
                              : candidate->outputs[i - candidate->input_count].tensor;
        if (state->is_dirty[tensor]) continue;
        state->is_dirty[tensor] = true;
        state->dirty[state->dirty_count++] = tensor;
    }
}

static double tensor_cost(const tn_choice_state *state, uint32_t tensor) {
    const tn_choose_tensor *ends = &state->problem->tensors[tensor];
    const size_t storages = state->problem->storage_count;
    const uint32_t *reads = state->reads + tensor * storages;
    const uint32_t *writes = state->writes + tensor * storages;
    uint32_t from = ends->given;
    double cost = 0;
    for (uint32_t storage = 0; storage < storages; storage++)
        if (writes[storage] > 0) from = storage;
    if (from == TN_CHOOSE_NONE) return 0;
    for (uint32_t to = 0; to < storages; to++)
        if (to != from && (reads[to] > 0 || ends->wanted == to))
            cost += state->problem->reformat[(tensor * storages + from) * storages + to];
    return cost;
}

tn_status tn_choice_refresh(tn_choice_state *state) {
    while (state->dirty_count > 0) {
        uint32_t tensor = state->dirty[--state->dirty_count];
        state->is_dirty[tensor] = false;
        double cost = tensor_cost(state, tensor);
        if (cost == state->tensor_cost[tensor]) continue;
        TN_TRY(log_add(state, (tn_choice_change){.is_tensor = true,
                                                 .index = tensor,
                                                 .cost = state->tensor_cost[tensor]}));
        state->total += cost - state->tensor_cost[tensor];
        state->tensor_cost[tensor] = cost;
    }
    return TN_OK;
}

void tn_choice_rollback(tn_choice_state *state, size_t log_count, double total) {
    while (state->log_count > log_count) {
        const tn_choice_change *entry = &state->log[--state->log_count];
        if (entry->is_tensor) {
            state->tensor_cost[entry->index] = entry->cost;
        } else {
            change_node(state, entry->index, entry->choice, entry->owner);
        }
    }
    state->total = total;
}

/* Takes the work off a head and its chain. */
static tn_status release_head(tn_choice_state *state, uint32_t head) {
    const tn_choose_candidate *candidate = tn_choice_candidate(state, head, state->choice[head]);
    state->total -= candidate->cost;
    mark_dirty(state, candidate);
    for (uint32_t i = 0; i <= candidate->chain_count; i++) {
        uint32_t node = i == 0 ? head : candidate->chain[i - 1];
        TN_TRY(set_node(state, node, TN_CHOOSE_NONE, TN_CHOOSE_NONE));
        state->released[state->released_count++] = node;
    }
    return TN_OK;
}

/* Gives nodes that nobody does to a head. */
tn_status tn_choice_set_head(tn_choice_state *state, uint32_t head, uint32_t choice) {
    const tn_choose_candidate *candidate = tn_choice_candidate(state, head, choice);
    state->total += candidate->cost;
    mark_dirty(state, candidate);
    TN_TRY(set_node(state, head, choice, head));
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        TN_TRY(set_node(state, candidate->chain[i], TN_CHOOSE_NONE, head));
    return TN_OK;
}

static tn_status set_best_single(tn_choice_state *state, uint32_t node) {
    uint32_t best = TN_CHOOSE_NONE;
    double best_total = INFINITY, before = state->total;
    size_t mark = state->log_count;
    for (uint32_t c = 0; c < state->problem->nodes[node].candidate_count; c++) {
        if (tn_choice_candidate(state, node, c)->chain_count > 0) continue;
        TN_TRY(tn_choice_set_head(state, node, c));
        TN_TRY(tn_choice_refresh(state));
        if (best == TN_CHOOSE_NONE || state->total < best_total) {
            best = c;
            best_total = state->total;
        }
        tn_choice_rollback(state, mark, before);
    }
    TN_TRY(tn_choice_set_head(state, node, best));
    return tn_choice_refresh(state);
}

static double tensor_costs(const tn_choice_state *state, const tn_choose_candidate *candidate) {
    double sum = 0;
    for (uint32_t i = 0; i < candidate->input_count; i++)
        sum += state->tensor_cost[candidate->inputs[i].tensor];
    for (uint32_t i = 0; i < candidate->output_count; i++)
        sum += state->tensor_cost[candidate->outputs[i].tensor];
    return sum;
}

static uint32_t covered_node(const tn_choose_candidate *candidate, uint32_t node, uint32_t i) {
    return i == 0 ? node : candidate->chain[i - 1];
}

/* What a head and its conversions cost, less the least that its nodes cost one by one. */
static double gain_of(const tn_choice_state *state, uint32_t head) {
    const tn_choose_candidate *candidate = tn_choice_candidate(state, head, state->choice[head]);
    double gain = candidate->cost + tensor_costs(state, candidate);
    for (uint32_t i = 0; i <= candidate->chain_count; i++)
        gain -= state->least_single[covered_node(candidate, head, i)];
    return gain;
}

/* Whether one of the first `count` covered nodes has this owner. */
static bool is_seen(const tn_choice_state *state, const tn_choose_candidate *candidate,
                    uint32_t node, uint32_t count, uint32_t owner) {
    for (uint32_t i = 0; i < count; i++)
        if (state->owner[covered_node(candidate, node, i)] == owner) return true;
    return false;
}

double tn_choice_least(const tn_choice_state *state, uint32_t node, uint32_t choice) {
    const tn_choose_candidate *candidate = tn_choice_candidate(state, node, choice);
    double least = state->total + candidate->cost - tensor_costs(state, candidate);
    for (uint32_t i = 0; i <= candidate->chain_count; i++) {
        const uint32_t covered = covered_node(candidate, node, i), owner = state->owner[covered];
        least -= state->least_single[covered];
        if (owner != TN_CHOOSE_NONE && !is_seen(state, candidate, node, i, owner))
            least -= gain_of(state, owner);
    }
    return least;
}

/* Gives node n its candidate c, whatever that breaks up. */
tn_status tn_choice_apply(tn_choice_state *state, uint32_t node, uint32_t choice) {
    const tn_choose_candidate *candidate = tn_choice_candidate(state, node, choice);
    state->released_count = 0;
    for (uint32_t i = 0; i <= candidate->chain_count; i++) {
        uint32_t covered = i == 0 ? node : candidate->chain[i - 1];
        if (state->owner[covered] != TN_CHOOSE_NONE)
            TN_TRY(release_head(state, state->owner[covered]));
    }
    TN_TRY(tn_choice_set_head(state, node, choice));
    TN_TRY(tn_choice_refresh(state));
    for (uint32_t i = 0; i < state->released_count; i++)
        if (state->owner[state->released[i]] == TN_CHOOSE_NONE)
            TN_TRY(set_best_single(state, state->released[i]));
    return TN_OK;
}

/* 0 where there is none. */
static double least_single_of(const tn_choice_state *state, uint32_t node) {
    double least = INFINITY;
    for (uint32_t c = 0; c < state->problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = tn_choice_candidate(state, node, c);
        if (candidate->chain_count == 0 && candidate->cost < least) least = candidate->cost;
    }
    return isfinite(least) ? least : 0;
}

void tn_choice_clear(tn_choice_state *state) {
    const tn_choose_problem *problem = state->problem;
    state->total = 0;
    state->log_count = 0;
    for (uint32_t n = 0; n < problem->node_count; n++)
        change_node(state, n, TN_CHOOSE_NONE, TN_CHOOSE_NONE);
    for (uint32_t t = 0; t < problem->tensor_count; t++) {
        state->tensor_cost[t] = tensor_cost(state, t);
        state->total += state->tensor_cost[t];
    }
}

tn_status tn_choice_state_init(tn_choice_state *state, const tn_allocator *allocator,
                               const tn_choose_problem *problem) {
    size_t nodes = (size_t)problem->node_count + 1, tensors = (size_t)problem->tensor_count + 1;
    state->problem = problem;
    state->allocator = allocator;
    TN_TRY(tn_arena_create(allocator, &state->arena));
    state->choice = tn_arena_allocate(state->arena, nodes, sizeof *state->choice);
    state->owner = tn_arena_allocate(state->arena, nodes, sizeof *state->owner);
    state->released = tn_arena_allocate(state->arena, nodes, sizeof *state->released);
    state->tensor_cost = tn_arena_allocate(state->arena, tensors, sizeof *state->tensor_cost);
    state->reads =
        tn_arena_allocate(state->arena, tensors * problem->storage_count + 1, sizeof *state->reads);
    state->writes = tn_arena_allocate(state->arena, tensors * problem->storage_count + 1,
                                      sizeof *state->writes);
    state->least_single = tn_arena_allocate(state->arena, nodes, sizeof *state->least_single);
    state->dirty = tn_arena_allocate(state->arena, tensors, sizeof *state->dirty);
    state->is_dirty = tn_arena_allocate(state->arena, tensors, sizeof *state->is_dirty);
    if (!state->choice || !state->owner || !state->released || !state->tensor_cost ||
        !state->reads || !state->writes || !state->least_single || !state->dirty ||
        !state->is_dirty)
        return tn_fail_memory("the choice of kernels");
    for (uint32_t n = 0; n < problem->node_count; n++) {
        state->choice[n] = state->owner[n] = TN_CHOOSE_NONE;
        state->least_single[n] = least_single_of(state, n);
    }
    TN_TRY(make_lists(state, true, &state->readers));
    return make_lists(state, false, &state->writers);
}

void tn_choice_state_deinit(tn_choice_state *state) {
    tn_deallocate(state->allocator, state->log);
    tn_arena_destroy(state->arena);
}

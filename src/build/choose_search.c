/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local search for the choice of a whole graph: descends from a greedy start and from one start a
 * format ("everything channel-blocked"), by changing one node at a time and then pairs of
 * neighbours, and keeps the best end. A change that breaks up a chain gives each node set free its
 * own best candidate at once, so that every state on the way is a sound choice.
 *
 * The sum is kept up to date change by change; a log undoes the changes that did not help.
 */
#include "build/choose.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Tries of one descent in pairs: bounds the time for very large graphs. */
enum { PAIR_TRY_LIMIT = 2000000, ROUND_LIMIT = 50 };

/* For each tensor, the nodes of which some candidate reads (or writes) it. */
typedef struct node_lists {
    uint32_t *first, *items; /* items[first[t]] ... items[first[t + 1] - 1] */
} node_lists;

typedef struct choice_change {
    bool is_tensor;
    uint32_t index, choice, owner;
    double cost;
} choice_change;

typedef struct choice_search {
    const tn_choose_problem *problem;
    const tn_allocator *allocator;
    tn_arena *arena;
    uint32_t *choice, *owner; /* by node: the candidate of a head; who does the node's work */
    double *tensor_cost, total;
    node_lists readers, writers;
    uint32_t *dirty, dirty_count; /* tensors whose cost is to be computed anew */
    bool *is_dirty;
    uint32_t *released, released_count;
    choice_change *log;
    size_t log_count, log_capacity;
    uint64_t pair_tries;
} choice_search;

static const tn_choose_candidate *candidate_of(const choice_search *search, uint32_t node,
                                               uint32_t choice) {
    return &search->problem->nodes[node].candidates[choice];
}

/* Collects (tensor, node) pairs of all candidates, each pair once. */
static tn_status node_lists_make(choice_search *search, bool of_inputs, node_lists *out_lists) {
    const tn_choose_problem *problem = search->problem;
    uint32_t *first =
        tn_arena_allocate(search->arena, (size_t)problem->tensor_count + 2, sizeof *first);
    uint32_t *seen =
        tn_arena_allocate(search->arena, (size_t)problem->tensor_count + 1, sizeof *seen);
    uint32_t *items = NULL;
    if (!first || !seen) return tn_fail_memory("the choice of kernels");
    for (int pass = 0; pass < 2; pass++) {
        memset(seen, 0, problem->tensor_count * sizeof *seen);
        for (uint32_t n = 0; n < problem->node_count; n++) {
            for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++) {
                const tn_choose_candidate *candidate = candidate_of(search, n, c);
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
        items = tn_arena_allocate(search->arena, (size_t)first[problem->tensor_count + 1] + 1,
                                  sizeof *items);
        if (!items) return tn_fail_memory("the choice of kernels");
    }
    out_lists->first = first;
    out_lists->items = items;
    return TN_OK;
}

static tn_status log_add(choice_search *search, choice_change entry) {
    TN_TRY(tn_grow(search->allocator, (void **)&search->log, &search->log_capacity,
                   search->log_count + 1, sizeof *search->log));
    search->log[search->log_count++] = entry;
    return TN_OK;
}

static tn_status set_node(choice_search *search, uint32_t node, uint32_t choice, uint32_t owner) {
    TN_TRY(log_add(search, (choice_change){.index = node,
                                           .choice = search->choice[node],
                                           .owner = search->owner[node]}));
    search->choice[node] = choice;
    search->owner[node] = owner;
    return TN_OK;
}

static void mark_dirty(choice_search *search, const tn_choose_candidate *candidate) {
    for (uint32_t i = 0; i < candidate->input_count + candidate->output_count; i++) {
        uint32_t tensor = i < candidate->input_count
                              ? candidate->inputs[i].tensor
                              : candidate->outputs[i - candidate->input_count].tensor;
        if (search->is_dirty[tensor]) continue;
        search->is_dirty[tensor] = true;
        search->dirty[search->dirty_count++] = tensor;
    }
}

static double tensor_cost(const choice_search *search, uint32_t tensor) {
    const tn_choose_tensor *ends = &search->problem->tensors[tensor];
    uint32_t from = ends->given, read = ends->wanted == TN_CHOOSE_NONE ? 0 : 1u << ends->wanted;
    size_t formats = search->problem->format_count;
    for (uint32_t i = search->writers.first[tensor]; i < search->writers.first[tensor + 1]; i++) {
        uint32_t n = search->writers.items[i];
        if (search->owner[n] != n) continue;
        const tn_choose_candidate *candidate = candidate_of(search, n, search->choice[n]);
        for (uint32_t k = 0; k < candidate->output_count; k++)
            if (candidate->outputs[k].tensor == tensor) from = candidate->outputs[k].format;
    }
    if (from == TN_CHOOSE_NONE) return 0;
    for (uint32_t i = search->readers.first[tensor]; i < search->readers.first[tensor + 1]; i++) {
        uint32_t n = search->readers.items[i];
        if (search->owner[n] != n) continue;
        const tn_choose_candidate *candidate = candidate_of(search, n, search->choice[n]);
        for (uint32_t k = 0; k < candidate->input_count; k++)
            if (candidate->inputs[k].tensor == tensor) read |= 1u << candidate->inputs[k].format;
    }
    double cost = 0;
    for (uint32_t to = 0; to < formats; to++)
        if (to != from && read & 1u << to)
            cost += search->problem->reformat[(tensor * formats + from) * formats + to];
    return cost;
}

static tn_status refresh(choice_search *search) {
    while (search->dirty_count > 0) {
        uint32_t tensor = search->dirty[--search->dirty_count];
        search->is_dirty[tensor] = false;
        double cost = tensor_cost(search, tensor);
        if (cost == search->tensor_cost[tensor]) continue;
        TN_TRY(log_add(search, (choice_change){.is_tensor = true,
                                               .index = tensor,
                                               .cost = search->tensor_cost[tensor]}));
        search->total += cost - search->tensor_cost[tensor];
        search->tensor_cost[tensor] = cost;
    }
    return TN_OK;
}

static void rollback(choice_search *search, size_t log_count, double total) {
    while (search->log_count > log_count) {
        const choice_change *entry = &search->log[--search->log_count];
        if (entry->is_tensor) {
            search->tensor_cost[entry->index] = entry->cost;
        } else {
            search->choice[entry->index] = entry->choice;
            search->owner[entry->index] = entry->owner;
        }
    }
    search->total = total;
}

/* Takes the work off a head and its chain. */
static tn_status release_head(choice_search *search, uint32_t head) {
    const tn_choose_candidate *candidate = candidate_of(search, head, search->choice[head]);
    search->total -= candidate->cost;
    mark_dirty(search, candidate);
    for (uint32_t i = 0; i <= candidate->chain_count; i++) {
        uint32_t node = i == 0 ? head : candidate->chain[i - 1];
        TN_TRY(set_node(search, node, TN_CHOOSE_NONE, TN_CHOOSE_NONE));
        search->released[search->released_count++] = node;
    }
    return TN_OK;
}

/* Gives nodes that nobody does to a head. */
static tn_status set_head(choice_search *search, uint32_t head, uint32_t choice) {
    const tn_choose_candidate *candidate = candidate_of(search, head, choice);
    search->total += candidate->cost;
    mark_dirty(search, candidate);
    TN_TRY(set_node(search, head, choice, head));
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        TN_TRY(set_node(search, candidate->chain[i], TN_CHOOSE_NONE, head));
    return TN_OK;
}

static tn_status set_best_single(choice_search *search, uint32_t node) {
    uint32_t best = TN_CHOOSE_NONE;
    double best_total = INFINITY, before = search->total;
    size_t mark = search->log_count;
    for (uint32_t c = 0; c < search->problem->nodes[node].candidate_count; c++) {
        if (candidate_of(search, node, c)->chain_count > 0) continue;
        TN_TRY(set_head(search, node, c));
        TN_TRY(refresh(search));
        if (best == TN_CHOOSE_NONE || search->total < best_total) {
            best = c;
            best_total = search->total;
        }
        rollback(search, mark, before);
    }
    TN_TRY(set_head(search, node, best));
    return refresh(search);
}

/* Gives node n its candidate c, whatever that breaks up. */
static tn_status apply(choice_search *search, uint32_t node, uint32_t choice) {
    const tn_choose_candidate *candidate = candidate_of(search, node, choice);
    search->released_count = 0;
    for (uint32_t i = 0; i <= candidate->chain_count; i++) {
        uint32_t covered = i == 0 ? node : candidate->chain[i - 1];
        if (search->owner[covered] != TN_CHOOSE_NONE)
            TN_TRY(release_head(search, search->owner[covered]));
    }
    TN_TRY(set_head(search, node, choice));
    TN_TRY(refresh(search));
    for (uint32_t i = 0; i < search->released_count; i++)
        if (search->owner[search->released[i]] == TN_CHOOSE_NONE)
            TN_TRY(set_best_single(search, search->released[i]));
    return TN_OK;
}

static bool is_better(double cost, double than) {
    return cost < than - 1e-9 * fabs(than);
}

static tn_status improve_nodes(choice_search *search, bool *out_improved) {
    for (uint32_t n = 0; n < search->problem->node_count; n++) {
        for (uint32_t c = 0; c < search->problem->nodes[n].candidate_count; c++) {
            if (search->choice[n] == c) continue;
            double before = search->total;
            size_t mark = search->log_count;
            TN_TRY(apply(search, n, c));
            if (is_better(search->total, before))
                *out_improved = true;
            else
                rollback(search, mark, before);
        }
    }
    search->log_count = 0; /* what was kept needs no undoing */
    return TN_OK;
}

/* With node n changed already: tries every candidate of a neighbour. True answers keep both. */
static tn_status improve_neighbour(choice_search *search, uint32_t neighbour, uint32_t node,
                                   double before, bool *out_improved) {
    for (uint32_t c = 0; c < search->problem->nodes[neighbour].candidate_count; c++) {
        if (search->choice[neighbour] == c || neighbour == node) continue;
        double with_one = search->total;
        size_t mark = search->log_count;
        search->pair_tries++;
        TN_TRY(apply(search, neighbour, c));
        if (is_better(search->total, before)) {
            *out_improved = true;
            return TN_OK;
        }
        rollback(search, mark, with_one);
    }
    return TN_OK;
}

static tn_status improve_around(choice_search *search, uint32_t node, uint32_t choice,
                                double before, bool *out_improved) {
    const tn_choose_candidate *candidate = candidate_of(search, node, choice);
    for (uint32_t i = 0; i < candidate->input_count + candidate->output_count; i++) {
        bool is_input = i < candidate->input_count;
        uint32_t tensor = is_input ? candidate->inputs[i].tensor
                                   : candidate->outputs[i - candidate->input_count].tensor;
        for (int side = 0; side < 2; side++) {
            const node_lists *lists = side == 0 ? &search->writers : &search->readers;
            for (uint32_t k = lists->first[tensor]; k < lists->first[tensor + 1]; k++) {
                TN_TRY(improve_neighbour(search, lists->items[k], node, before, out_improved));
                if (*out_improved) return TN_OK;
            }
        }
    }
    return TN_OK;
}

static tn_status improve_pairs(choice_search *search, bool *out_improved) {
    for (uint32_t n = 0; n < search->problem->node_count; n++) {
        for (uint32_t c = 0; c < search->problem->nodes[n].candidate_count; c++) {
            if (search->choice[n] == c || search->pair_tries > PAIR_TRY_LIMIT) continue;
            double before = search->total;
            size_t mark = search->log_count;
            bool has_improved = false;
            TN_TRY(apply(search, n, c));
            TN_TRY(improve_around(search, n, c, before, &has_improved));
            if (has_improved)
                *out_improved = true;
            else
                rollback(search, mark, before);
        }
    }
    search->log_count = 0;
    return TN_OK;
}

static tn_status descend(choice_search *search) {
    search->pair_tries = 0;
    for (int round = 0; round < ROUND_LIMIT; round++) {
        bool has_improved = false;
        TN_TRY(improve_nodes(search, &has_improved));
        if (!has_improved) TN_TRY(improve_pairs(search, &has_improved));
        if (!has_improved) break;
    }
    return TN_OK;
}

static bool uses_only(const tn_choose_candidate *candidate, uint32_t format) {
    for (uint32_t i = 0; i < candidate->input_count; i++)
        if (candidate->inputs[i].format != format) return false;
    for (uint32_t i = 0; i < candidate->output_count; i++)
        if (candidate->outputs[i].format != format) return false;
    return true;
}

static double cheapest_single(const choice_search *search, uint32_t node) {
    double cheapest = INFINITY;
    for (uint32_t c = 0; c < search->problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = candidate_of(search, node, c);
        if (candidate->chain_count == 0 && candidate->cost < cheapest) cheapest = candidate->cost;
    }
    return cheapest;
}

static bool can_cover(const choice_search *search, const tn_choose_candidate *candidate) {
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        if (search->owner[candidate->chain[i]] != TN_CHOOSE_NONE) return false;
    return true;
}

/* The candidate that adds least, a chain's nodes counted as saved; those that use nothing but
 * `format` go first, where there are any. */
static tn_status start_node(choice_search *search, uint32_t node, uint32_t format) {
    uint32_t best = TN_CHOOSE_NONE;
    bool is_best_uniform = false;
    double best_added = INFINITY, before = search->total;
    size_t mark = search->log_count;
    for (uint32_t c = 0; c < search->problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = candidate_of(search, node, c);
        if (!can_cover(search, candidate)) continue;
        bool is_uniform = format != TN_CHOOSE_NONE && uses_only(candidate, format);
        TN_TRY(set_head(search, node, c));
        TN_TRY(refresh(search));
        double added = search->total - before;
        rollback(search, mark, before);
        for (uint32_t i = 0; i < candidate->chain_count; i++)
            added -= cheapest_single(search, candidate->chain[i]);
        if (best == TN_CHOOSE_NONE || (is_uniform && !is_best_uniform) ||
            (is_uniform == is_best_uniform && added < best_added)) {
            best = c;
            best_added = added;
            is_best_uniform = is_uniform;
        }
    }
    TN_TRY(set_head(search, node, best));
    return refresh(search);
}

static tn_status start(choice_search *search, uint32_t format) {
    const tn_choose_problem *problem = search->problem;
    search->total = 0;
    for (uint32_t n = 0; n < problem->node_count; n++)
        search->choice[n] = search->owner[n] = TN_CHOOSE_NONE;
    for (uint32_t t = 0; t < problem->tensor_count; t++) {
        search->tensor_cost[t] = tensor_cost(search, t);
        search->total += search->tensor_cost[t];
    }
    for (uint32_t n = 0; n < problem->node_count; n++)
        if (search->owner[n] == TN_CHOOSE_NONE) TN_TRY(start_node(search, n, format));
    search->log_count = 0;
    return TN_OK;
}

static tn_status search_init(choice_search *search, const tn_allocator *allocator,
                             const tn_choose_problem *problem) {
    size_t nodes = (size_t)problem->node_count + 1, tensors = (size_t)problem->tensor_count + 1;
    search->problem = problem;
    search->allocator = allocator;
    TN_TRY(tn_arena_create(allocator, &search->arena));
    search->choice = tn_arena_allocate(search->arena, nodes, sizeof *search->choice);
    search->owner = tn_arena_allocate(search->arena, nodes, sizeof *search->owner);
    search->released = tn_arena_allocate(search->arena, nodes, sizeof *search->released);
    search->tensor_cost = tn_arena_allocate(search->arena, tensors, sizeof *search->tensor_cost);
    search->dirty = tn_arena_allocate(search->arena, tensors, sizeof *search->dirty);
    search->is_dirty = tn_arena_allocate(search->arena, tensors, sizeof *search->is_dirty);
    if (!search->choice || !search->owner || !search->released || !search->tensor_cost ||
        !search->dirty || !search->is_dirty)
        return tn_fail_memory("the choice of kernels");
    TN_TRY(node_lists_make(search, true, &search->readers));
    return node_lists_make(search, false, &search->writers);
}

tn_status tn_choose_search(const tn_allocator *allocator, const tn_choose_problem *problem,
                           uint32_t *out_choice, double *out_cost) {
    choice_search search = {0};
    double best = INFINITY;
    tn_status status = search_init(&search, allocator, problem);
    for (uint32_t s = 0; status == TN_OK && s <= problem->format_count; s++) {
        TN_GO(start(&search, s == 0 ? TN_CHOOSE_NONE : s - 1));
        TN_GO(descend(&search));
        if (s > 0 && !is_better(search.total, best)) continue;
        best = search.total;
        if (problem->node_count > 0)
            memcpy(out_choice, search.choice, problem->node_count * sizeof *out_choice);
    }
    if (status == TN_OK) *out_cost = tn_choose_cost(problem, out_choice);
done:
    tn_deallocate(allocator, search.log);
    tn_arena_destroy(search.arena);
    return status;
}

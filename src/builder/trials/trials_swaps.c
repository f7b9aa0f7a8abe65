/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swaps: the best choice so far with another kernel or tactic at one node, and at those that are
 * equal to it. On a device steps run beside each other, so that nothing is known of a step by
 * itself, and what it takes depends on the kernels in front of it and behind it: each swap is a
 * network, that runs against the best one. What may win most comes first: a candidate is thought to
 * take less in the network than by itself by as much as single timings vary. No choice is tried
 * twice: two that are as good could each seem better than the other for ever, by what a cache keeps
 * of their races without taking any time.
 */
#include "base/hash.h"
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing_policy.h"
#include "builder/trials/trials_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct swap {
    uint32_t node, candidate; /* instead of what the node has, and all that share it */
    double gain_ns;           /* that it may win */
} swap;

typedef struct swaps {
    const tn_lowering *lowering;
    tn_lower_leaders leaders;
    swap *items;
    size_t count, capacity;
    uint64_t *tried; /* hashes of choices */
    size_t tried_count, tried_capacity;
} swaps;

/* Whether a node runs a kernel of its own that could be another one. */
static bool is_open(const tn_lowering *lowering, const uint32_t *choice, uint32_t node) {
    const tn_lower_node *of = &lowering->nodes[node];
    return !lowering->graph->nodes[node].is_dead && lowering->facts->is_shaped[node] &&
           of->candidate_count > 1 && choice[node] < of->candidate_count;
}

/* Whether an equal node has the same candidate, so that both are swapped at once. */
static bool is_shared(const swaps *known, const uint32_t *choice, uint32_t a, uint32_t b) {
    return known->leaders.leader[a] == known->leaders.leader[b] && choice[a] == choice[b];
}

static bool reads_alike(const tn_candidate *a, const tn_candidate *b) {
    const uint32_t count = tn_lower_operand_count(a);
    return count == tn_lower_operand_count(b) &&
           (count == 0 || memcmp(a->operands, b->operands, count * sizeof *a->operands) == 0);
}

static tn_status add_swaps(swaps *known, const uint32_t *choice, uint32_t node, uint32_t count) {
    const tn_lowering *lowering = known->lowering;
    const tn_lower_node *of = &lowering->nodes[node];
    const tn_candidate *own = &of->candidates[choice[node]];
    for (uint32_t i = 0; i < of->candidate_count; i++) {
        const tn_candidate *other = &of->candidates[i];
        const double gain_ns =
            count * (tn_timing_policy.beside_same_factor * own->cost - other->cost);
        if (i == choice[node] || gain_ns <= 0 || !reads_alike(own, other) ||
            !tn_lower_compare_is_same_use(&lowering->graph->nodes[node], own, other))
            continue;
        TN_TRY(tn_grow(lowering->graph->allocator, (void **)&known->items, &known->capacity,
                       known->count + 1, sizeof *known->items));
        known->items[known->count++] = (swap){node, i, gain_ns};
    }
    return TN_OK;
}

static int compare(const void *a, const void *b) {
    const swap *left = a, *right = b;
    if (left->gain_ns != right->gain_ns) return left->gain_ns > right->gain_ns ? -1 : 1;
    if (left->node != right->node) return left->node < right->node ? -1 : 1;
    return left->candidate < right->candidate ? -1 : 1;
}

/* All swaps of a choice, those first that may win most. */
static tn_status list_swaps(swaps *known, const uint32_t *choice) {
    const tn_lowering *lowering = known->lowering;
    known->count = 0;
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        uint32_t first = n, count = 0;
        if (!is_open(lowering, choice, n)) continue;
        for (uint32_t m = 0; m < lowering->graph->node_count; m++) {
            if (!is_open(lowering, choice, m) || !is_shared(known, choice, n, m)) continue;
            if (m < first) first = m;
            count++;
        }
        if (first == n) TN_TRY(add_swaps(known, choice, n, count));
    }
    if (known->count > 0) qsort(known->items, known->count, sizeof *known->items, compare);
    return TN_OK;
}

static void apply(const swaps *known, const swap *one, const uint32_t *choice, uint32_t *next) {
    const size_t nodes = known->lowering->graph->node_count;
    memcpy(next, choice, nodes * sizeof *next);
    for (uint32_t n = 0; n < nodes; n++)
        if (is_open(known->lowering, choice, n) && is_shared(known, choice, one->node, n))
            next[n] = one->candidate;
}

/* Notes a choice; false: it was tried before. */
static tn_status note_choice(swaps *known, const uint32_t *choice, bool *out_is_new) {
    const tn_graph *graph = known->lowering->graph;
    const uint64_t hash = tn_hash_add(0, choice, graph->node_count * sizeof *choice);
    *out_is_new = true;
    for (size_t i = 0; i < known->tried_count; i++)
        if (known->tried[i] == hash) *out_is_new = false;
    if (!*out_is_new) return TN_OK;
    TN_TRY(tn_grow(graph->allocator, (void **)&known->tried, &known->tried_capacity,
                   known->tried_count + 1, sizeof *known->tried));
    known->tried[known->tried_count++] = hash;
    return TN_OK;
}

/* *out_is_better: one of them was. */
static tn_status try_swaps(tn_lowering *lowering, swaps *known, uint32_t *choice, uint32_t *next,
                           bool *out_is_better, bool *out_is_over) {
    *out_is_better = false;
    for (size_t i = 0; i < known->count && !*out_is_over; i++) {
        bool is_new = false;
        apply(known, &known->items[i], choice, next);
        TN_TRY(note_choice(known, next, &is_new));
        if (!is_new) continue;
        TN_TRY(tn_progress_tell(lowering->options->progress, "choose", 0, 2));
        TN_TRY(tn_trial_try(lowering, next, choice, out_is_over));
        *out_is_better |= memcmp(next, choice, lowering->graph->node_count * sizeof *next) == 0;
    }
    return TN_OK;
}

tn_status tn_trial_swaps(tn_lowering *lowering, uint32_t *choice, uint32_t *next) {
    swaps known = {.lowering = lowering};
    bool is_better = true, is_over = false, is_new = false;
    tn_status status = tn_lower_equal(lowering, &known.leaders);
    if (status == TN_OK) status = note_choice(&known, choice, &is_new);
    while (status == TN_OK && is_better && !is_over) {
        status = list_swaps(&known, choice);
        if (status == TN_OK)
            status = try_swaps(lowering, &known, choice, next, &is_better, &is_over);
    }
    tn_deallocate(lowering->graph->allocator, known.items);
    tn_deallocate(lowering->graph->allocator, known.tried);
    return status;
}

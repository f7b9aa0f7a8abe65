/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a search for a choice: who does each node's work, what each tensor's conversions
 * cost, and the sum of all, kept up to date change by change; a log undoes changes. Where to go is
 * choose_search.c's matter.
 */
#ifndef TN_BUILDER_CHOOSE_CHOICE_STATE_H
#define TN_BUILDER_CHOOSE_CHOICE_STATE_H

#include "builder/choose/choose.h"

/* For each tensor, the nodes of which some candidate reads (or writes) it. */
typedef struct tn_choice_lists {
    uint32_t *first, *items; /* items[first[t]] ... items[first[t + 1] - 1] */
} tn_choice_lists;

typedef struct tn_choice_change {
    bool is_tensor;
    uint32_t index, choice, owner;
    double cost;
} tn_choice_change;

typedef struct tn_choice_state {
    const tn_choose_problem *problem;
    const tn_allocator *allocator;
    tn_arena *arena;
    uint32_t *choice, *owner; /* by node: the candidate of a head; who does the node's work */
    double *tensor_cost, total;
    double *least_single;     /* by node: the least cost of a candidate that does it alone */
    uint32_t *reads, *writes; /* by tensor and storage: how often heads' candidates use it so */
    tn_choice_lists readers, writers;
    uint32_t *dirty, dirty_count; /* tensors whose cost is to be computed anew */
    bool *is_dirty;
    uint32_t *released, released_count;
    tn_choice_change *log;
    size_t log_count, log_capacity;
    uint64_t pair_tries;
} tn_choice_state;

static inline const tn_choose_candidate *tn_choice_candidate(const tn_choice_state *state,
                                                             uint32_t node, uint32_t choice) {
    return &state->problem->nodes[node].candidates[choice];
}

/* A zeroed state gets its lists and memory; nobody does anything yet. */
tn_status tn_choice_state_init(tn_choice_state *state, const tn_allocator *allocator,
                               const tn_choose_problem *problem);
void tn_choice_state_deinit(tn_choice_state *state);
/* Takes all work off all nodes. */
void tn_choice_clear(tn_choice_state *state);
/* Gives nodes that nobody does to a head; tn_choice_refresh then updates the sum. */
tn_status tn_choice_set_head(tn_choice_state *state, uint32_t head, uint32_t choice);
tn_status tn_choice_refresh(tn_choice_state *state);
/* Gives a node its candidate, whatever chains that breaks up; each node set free gets its own best
 * candidate, so that the state is a sound choice again. */
tn_status tn_choice_apply(tn_choice_state *state, uint32_t node, uint32_t choice);
/* A bound of what the sum can become by that, at a fraction of its time: conversions at what these
 * candidates use may all go, and nodes set free get their least. */
double tn_choice_least(const tn_choice_state *state, uint32_t node, uint32_t choice);
/* Undoes all changes since the log had this length and the sum was this. */
void tn_choice_rollback(tn_choice_state *state, size_t log_count, double total);

#endif

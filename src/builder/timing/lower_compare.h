/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A candidate beside the others of its node: whether it is due to be measured, by what was measured
 * of those that differ from it in the tactic alone, or in how much of the chain they do; which ones
 * are near enough to be measured beside each other; and a guess for those that were not measured.
 */
#ifndef TN_BUILDER_TIMING_LOWER_COMPARE_H
#define TN_BUILDER_TIMING_LOWER_COMPARE_H

#include "builder/lower/lower_candidates.h"
#include "builder/timing/timing_policy.h"

/* What a candidate is asked for. */
typedef struct tn_lower_due {
    tn_timing_stage stage;
    double limit_ns;        /* on the estimate of what promises most */
    bool is_contested;      /* another node could do a part of the node's chain */
    bool is_without_lowest; /* not what stores something in the least exact type */
} tn_lower_due;

bool tn_lower_compare_is_due(const tn_lowering *lowering, uint32_t node, size_t candidate,
                             const tn_lower_due *due);
/* Whether a candidate stores something in the least exact type that the build may use. */
bool tn_lower_compare_is_lowest(const tn_lowering *lowering, uint32_t node,
                                const tn_candidate *candidate);
/* The shortest time of those that do at least as much of the chain; infinity: none was measured. */
double tn_lower_compare_best(const tn_lower_node *node, const tn_candidate *candidate);
/* Those that could be chosen, the nearest first: at most TN_TIMING_MOST_OPEN. */
uint32_t tn_lower_compare_list_near(const tn_lowering *lowering, uint32_t node,
                                    tn_candidate **candidates);
/* Sets lowering->ratios: what was measured over what estimates said of it, all nodes together; 1
 * where nothing was. */
void tn_lower_compare_find_ratios(tn_lowering *lowering);
/* What was not measured costs its estimate by that ratio, and more than what was at its node. */
void tn_lower_compare_guess_rest(const tn_lowering *lowering, uint32_t node);
/* Whether two read and write the same types and formats in the same memory. */
bool tn_lower_compare_store_alike(const tn_graph_node *node, const tn_candidate *a,
                                  const tn_candidate *b);
/* Whether both were measured, and differ in kernel or tactic alone. */
bool tn_lower_compare_is_same_use(const tn_graph_node *node, const tn_candidate *a,
                                  const tn_candidate *b);

/* --- lower_equal.c --- */
typedef struct tn_lower_leaders {
    uint32_t count, *nodes; /* those first whose nodes take most by the costs so far */
    /* By node: the first one with the same candidates, which is measured for all of them; and for
     * such a node how many they are. */
    uint32_t *leader, *equal_count;
} tn_lower_leaders;
tn_status tn_lower_equal(const tn_lowering *lowering, tn_lower_leaders *out_leaders);

/* --- lower_cost.c --- */
/* Nanoseconds of a candidate, by rule. */
double tn_lower_estimate(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);

#endif

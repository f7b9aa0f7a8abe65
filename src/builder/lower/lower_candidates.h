/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidates of each node: kernel, combination, tactic and chain. Their costs are those of
 * timing/, which also takes out those that fail.
 */
#ifndef TN_BUILDER_LOWER_LOWER_CANDIDATES_H
#define TN_BUILDER_LOWER_LOWER_CANDIDATES_H

#include "builder/lower/candidate.h"

/* Those of one node. */
struct tn_lower_node {
    tn_candidate *candidates;
    size_t candidate_count, candidate_capacity;
};

/* Sets lowering->nodes. */
tn_status tn_lower_candidates_find(tn_lowering *lowering);
/* Takes one out. */
void tn_lower_candidates_remove(tn_lower_node *node, size_t index);
/* The least cost of a node's candidates; infinity: there are none. */
double tn_lower_candidates_least(const tn_lower_node *node);
/* Whether it is the first tactic that is left of its group. */
bool tn_lower_is_first_of_group(const tn_lower_node *node, size_t index);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A candidate beside the others of its node, for lower_timing.c: which of them differ from it in
 * the tactic alone, which in how much of the chain they do, and what was measured of those.
 */
#ifndef TN_BUILDER_TIMING_LOWER_RIVALS_H
#define TN_BUILDER_TIMING_LOWER_RIVALS_H

#include "builder/lower/lower_private.h"

/* Whether it is the first tactic that is left of its kernel with its storages and chain. */
bool tn_lower_rivals_is_first(const tn_lower_node *node, size_t index);
/* Whether two read and write the same types and formats in the same memory. */
bool tn_lower_rivals_store_alike(const tn_graph_node *node, const tn_candidate *a,
                                 const tn_candidate *b);
/* The shortest time that was measured; infinity: none. Of the tactics of its kernel with its
 * storages and chain; of its kernel with its storages and any chain; of all that do at least as
 * much of the chain. */
double tn_lower_rivals_best_tactic(const tn_lower_node *node, const tn_candidate *candidate);
double tn_lower_rivals_best_chain(const tn_lowering *lowering, uint32_t index,
                                  const tn_candidate *candidate);
double tn_lower_rivals_best(const tn_lower_node *node, const tn_candidate *candidate);
/* Whether it does as much of the chain as its kernel can: a step of its own for the rest costs more
 * than a longer chain, nearly always. */
bool tn_lower_rivals_is_whole(const tn_lower_node *node, const tn_candidate *candidate);

#endif

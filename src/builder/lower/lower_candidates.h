/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidates of each node: kernel, combination, tactic and chain. Their costs are those of
 * timing/, which also takes out those that fail.
 */
#ifndef TN_BUILDER_LOWER_LOWER_CANDIDATES_H
#define TN_BUILDER_LOWER_LOWER_CANDIDATES_H

#include "builder/lower/candidate.h"

/* Sets lowering->nodes. */
tn_status tn_lower_candidates_find(tn_lowering *lowering);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a model declares of its outputs and of the tensors in between, against what its
 * nodes compute: differences are warnings, and what is computed is used. */
#ifndef TN_BUILDER_DECLARED_H
#define TN_BUILDER_DECLARED_H

#include "plan/plan.h"
#include "program/profile.h"

/* Compares what `given`, the reader's graph, declares with the shapes at a profile's points;
 * tensors have the same numbers in both. `is_unsure`: by tensor, its shape may be another one in a
 * run. Logs a line for each of the first outputs that differ, and one for all other tensors. Each
 * graph is compared once: a search builds it many times. */
void tn_declared_compare(tn_graph *given, const tn_profile_shapes *shapes, const bool *is_unsure);

#endif

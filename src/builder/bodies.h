/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of a graph's nodes, built as networks of their own; see bodies.c. */
#ifndef TN_BUILDER_BODIES_H
#define TN_BUILDER_BODIES_H

#include "builder/builder.h"
#include "graph/infer.h"

/* Before shapes are inferred: what the shape rules ask their bodies is noted. */
void tn_bodies_record(const tn_graph *graph);
/* Builds all of them for what was noted, with the outer network's options as far as they speak of
 * bodies. `plan` says which nodes' shapes only a run knows. */
tn_status tn_bodies_build(const tn_graph *graph, const tn_inference_plan *plan,
                          const tn_builder_options *options, tn_timing_cache *cache);

#endif

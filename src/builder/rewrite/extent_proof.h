/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of extents for every shape that a network may be run with. Extents that agree at a
 * profile's ends and optimum may do so by accident: all inputs move together there. So the network
 * is inferred at further shapes within the profile, where each extent that may differ (by its name,
 * or by input and axis where it has none) has a value of its own. Where none of these shapes can be
 * inferred, nothing is known of extents at all; where values of inputs decide shapes, extents that
 * differ are never known to be equal.
 */
#ifndef TN_BUILDER_REWRITE_EXTENT_PROOF_H
#define TN_BUILDER_REWRITE_EXTENT_PROOF_H

#include "builder/passes/passes.h"
#include "program/probe.h"

enum { TN_PROOF_PROBES = TN_PROBE_FURTHER, TN_PROOF_POINTS = TN_POINTS + TN_PROOF_PROBES };

typedef struct tn_extent_proof {
    uint32_t probe_count;
    tn_inference probes[TN_PROOF_PROBES];
    bool is_varying; /* some input's shape may differ */
    bool has_values; /* values decide shapes: no shapes but the profile's are tried of them */
} tn_extent_proof;

/* `shapes`: those of the same graph at the profile's points, with the plan that they were inferred
 * by. The graph must be as it was inferred. Must not be moved. */
tn_status tn_extent_proof_init(tn_extent_proof *proof, const tn_graph *graph,
                               const tn_plan_profile *profiles, const tn_profile_shapes *shapes,
                               tn_arena *arena);
void tn_extent_proof_deinit(tn_extent_proof *proof); /* a zeroed one is fine */

/* All inferences that there are, those of infer.h first; how many. */
uint32_t tn_extent_points(const tn_pass_context *context,
                          const tn_inference *out_points[TN_PROOF_POINTS]);
/* The extent where it is the same for all shapes; -1: it is not, or that is not known. */
int64_t tn_extent_fixed(const tn_pass_context *context, tn_tensor_id tensor, uint32_t axis);
/* Whether two extents are equal for all shapes. */
bool tn_extent_is_equal(const tn_pass_context *context, tn_tensor_id a, uint32_t axis_a,
                        tn_tensor_id b, uint32_t axis_b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: the range of shapes that a plan is built for, from what the caller says and what the
 * graph declares, one an input; and the shapes of all tensors at its points.
 */
#ifndef TN_PROGRAM_PROFILE_H
#define TN_PROGRAM_PROFILE_H

#include "graph/infer.h"

#include <tenon/builder.h>

/* The profile of one graph input, as a plan stores it. */
typedef struct tn_plan_profile {
    bool is_free; /* no profile was given: any shape that the graph's declaration allows */
    tn_shape minimum, optimum, maximum;
    const void *minimum_value, *optimum_value, *maximum_value; /* or null */
} tn_plan_profile;

/* One profile for each input of the graph, in `arena`, from the options' profile_inputs, whose
 * values are lent. Inputs that are not named keep their shape; with unknown extents they are free
 * (optimum 1 for each). TN_ERROR_NOT_FOUND (a name that no input has), TN_ERROR_SHAPE,
 * TN_ERROR_RANGE. */
tn_status tn_profile_make(const tn_graph *graph, const tn_builder_options *options, tn_arena *arena,
                          tn_plan_profile **out_profiles);
/* The same from these. */
tn_status tn_profile_make_of(const tn_graph *graph, uint32_t count,
                             const tn_profile_input *const *inputs, tn_arena *arena,
                             tn_plan_profile **out_profiles);
/* Whether every allowed shape of the input is the same one. */
bool tn_profile_is_fixed(const tn_plan_profile *profile);

/* The profiles of a plan: `input_count` ranges each. */
typedef struct tn_profile_sets {
    uint32_t count, input_count;
    const tn_plan_profile *inputs; /* count * input_count, those of profile 0 first */
} tn_profile_sets;
static inline const tn_plan_profile *tn_profile_sets_at(const tn_profile_sets *sets,
                                                        uint32_t profile) {
    return sets->inputs + (size_t)profile * sets->input_count;
}
/* What the options ask for, at least one; values are lent by them. Errors as above,
 * TN_ERROR_ARGUMENT. */
tn_status tn_profile_sets_make(const tn_graph *graph, const tn_builder_options *options,
                               tn_arena *arena, tn_profile_sets *out_sets);
/* One range an input that holds those of all profiles; the optimum is profile 0's. */
tn_status tn_profile_sets_hull(const tn_graph *graph, const tn_profile_sets *sets, tn_arena *arena,
                               tn_plan_profile **out_hull);
/* What is known of a graph's shapes over its profiles: an inference a point, the same one where
 * nothing varies. Where an input's shape or a value that decides shapes is not known before a run,
 * everything after it counts as `is_after_run` in `plan`: its shapes may be unknown here
 * (is_known is false, or they are guesses). */
typedef struct tn_profile_shapes {
    tn_inference_plan plan;       /* with is_after_run widened; is_host_node as the graph has it */
    tn_inference_plan known_plan; /* what the inferences ran with */
    tn_inference inferences[TN_POINTS];
    const tn_inference *points[TN_POINTS]; /* by TN_POINT_... */
    bool is_partial;                       /* something is not known before a run */
    const bool *is_unknown;                /* by tensor: follows from an input that is not known */
    int round; /* of the extents that no profile bounds (program/probe.h) */
} tn_profile_shapes;
/* The graph must be sorted and must not change while this is in use; the plans' arrays lie in
 * `arena`. Must not be moved. */
tn_status tn_profile_shapes_init(tn_profile_shapes *shapes, const tn_graph *graph,
                                 const tn_plan_profile *profiles, tn_arena *arena);
void tn_profile_shapes_deinit(tn_profile_shapes *shapes); /* a zeroed one is fine */
/* Marks the nodes of operators with TN_OPERATOR_EXACT of which all sizes are known at all points
 * (profile_exact.c); the shapes are to be inferred again where it answers that there is one. */
tn_status tn_profile_mark_exact(const tn_profile_shapes *shapes, tn_graph *graph, tn_arena *arena,
                                bool *out_is_any);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the builder's files know of a build: builder.c has the order of the work, build_plan.c makes
 * plan and report of what was built. */
#ifndef TN_BUILDER_BUILD_STATE_H
#define TN_BUILDER_BUILD_STATE_H

#include "builder/lower/lower.h"
#include "builder/passes/passes.h"
#include "builder/rewrite/extent_proof.h"
#include "plugin/devices.h"
#include "program/profile.h"
#include "report/report_memory.h"

/* What is built of one profile. */
typedef struct built_profile {
    const tn_plan_profile *ranges;
    tn_profile_shapes shapes; /* of the graph that is lowered */
    tn_lower_notes notes;
    tn_program program;
    tn_report_steps steps;
    tn_report_memory memory;
} built_profile;

/* A build, from the caller's graph to the plan. */
typedef struct build_state {
    const tn_builder_options *options;
    tn_graph *given; /* the caller's */
    tn_graph *graph; /* a copy with the same numbers of tensors */
    tn_arena *arena;
    tn_profile_sets sets;
    tn_plan_profile *hull;    /* the range that holds all profiles: what the passes may rely on */
    tn_profile_shapes before; /* the passes: at that range's points, or, where the graph refuses
                                 those, at profile 0's */
    bool is_hull_refused;
    built_profile *profiles; /* sets.count, once the passes are done */
    tn_pass_context passes;
    tn_extent_proof proof;
    tn_timing_cache *cache, *own_cache; /* own: opened here */
    tn_used_device device;
    tn_thread_pool pool;
    tn_progress progress;
    bool *is_kept;          /* by node of the graph that is lowered */
    float *scales;          /* by tensor of it */
    tn_node_pin *node_pins; /* by node of it */
    tn_plan *plan;
} build_state;

/* Plans the memory of each profile's runs, writes the plan, and its report. */
tn_status tn_build_plan(build_state *state);

#endif

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
    uint32_t lowered;        /* of them: the one that is lowered now */
    tn_pass_context passes;
    tn_extent_proof proof;
    tn_timing_cache *cache, *own_cache; /* own: opened here */
    tn_used_device device;
    tn_thread_pool pool;
    tn_progress progress;
    bool *is_kept;                       /* by node of the graph that is lowered */
    float *scales;                       /* by tensor of it */
    tn_node_pin *node_pins;              /* by node of it */
    const struct tn_plan_runner *runner; /* null: none */
    bool has_report;                     /* the plan is to have one */
    tn_plan *plan;
} build_state;

#define TN_BUILD_PASS_STEPS 4
static inline tn_status tn_build_tell_pass(build_state *state, uint64_t done) {
    return tn_progress_tell(&state->progress, "passes", done, TN_BUILD_PASS_STEPS);
}

/* --- build_passes.c --- */
tn_status tn_build_run_passes(build_state *state);

/* --- build_kept.c --- */
/* Names of nodes to keep that the graph does not have: TN_ERROR_NOT_FOUND. */
tn_status tn_build_check_kept(const tn_graph *graph, const tn_builder_options *options);
/* Sets is_kept, scales and node_pins. */
tn_status tn_build_storages(build_state *state);

/* --- kernel_libraries.c --- */
/* Before the passes: loads those that have kernels for the graph's operators; in a build that goes
 * by estimates, for those that take no floats alone. */
tn_status tn_build_load_kernels_first(const build_state *state);
/* With the profiles' shapes: loads those that such a build could be better with. */
tn_status tn_build_load_kernels(build_state *state);

/* --- builder.c --- */
/* As tn_build_with and no runner, without a report, which nobody could ask for. */
tn_status tn_build_body(tn_graph *graph, const tn_builder_options *options, tn_timing_cache *cache,
                        tn_plan **out_plan);

/* --- bodies.c --- */
/* Before shapes are inferred: what the shape rules ask their bodies is noted. */
void tn_bodies_record(const tn_graph *graph);
/* Builds the bodies of nodes for what was noted, as networks of their own: each once, for what all
 * profiles ask of it, with the outer network's options as far as they speak of bodies. */
tn_status tn_bodies_build(build_state *state);

/* --- build_plan.c --- */
/* Whether programs of this build can be run while it is under way: of one profile, on the
 * processor, with no bodies, and with constants of no more than half a gigabyte. */
bool tn_build_can_run(const build_state *state);
tn_lower_runner tn_build_runner(build_state *state);
/* Plans the memory of each profile's runs, writes the plan, and its report. */
tn_status tn_build_plan(build_state *state);

#endif

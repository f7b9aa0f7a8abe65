/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: chooses, for a sorted optimised graph and its profile, a kernel, combination, tactic
 * and epilogue chain for each node, and formats for the whole graph at once; by measured time, or
 * by rule without timing. Used by the builder, and by the engine when no stored program fits the
 * device.
 */
#ifndef TN_BUILD_LOWER_H
#define TN_BUILD_LOWER_H

#include "build/program.h"
#include "graph/infer.h"

typedef struct tn_timing_cache tn_timing_cache; /* build/timing_cache.h */

typedef struct tn_lower_options {
    uint32_t threads;
    bool no_timing, no_fusion, reference_only;
    const char *forced;     /* "Op=kernel,..." or null */
    tn_timing_cache *cache; /* null: none */
    double timing_seconds;
    const tn_thread_pool *pool; /* that timings run on */
} tn_lower_options;

/* `inferences`: at the profile's minimum, optimum and maximum (the same one thrice for fixed
 * shapes). The program lies in `arena`. */
tn_status tn_lower(const tn_graph *graph, const tn_inference_plan *plan,
                   const tn_inference *const inferences[3], const tn_lower_options *options,
                   tn_arena *arena, tn_program *out_program);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The builder's inner side: builds of one network that share what they measure. The public side is
 * tenon/builder.h. */
#ifndef TN_BUILDER_BUILDER_H
#define TN_BUILDER_BUILDER_H

#include "builder/timing/timing_cache.h"

#include <tenon/builder.h>

/* Runs plans, for builds that try what they choose. */
typedef struct tn_plan_runner {
    /* Of a plan with one program, which the network keeps. `device`: the plan's. */
    tn_status (*open)(tn_runtime *runtime, const tn_plan *plan, const tn_device *device,
                      void **out_network);
    /* As tn_lower_runner's. */
    void (*close)(void *network);
    tn_status (*race)(void *const *networks, uint32_t count, double most_ns,
                      double *const *out_step_ns, double *out_ns);
} tn_plan_runner;

/* tn_build with a timing cache that is open already, instead of the options' `timing_cache`:
 * builds that share one see equal timings, so that they differ by what they are asked for alone.
 * `cache` null: the options'. `runner` null: nothing is run as a whole. */
tn_status tn_build_with(tn_graph *graph, const tn_builder_options *options, tn_timing_cache *cache,
                        const tn_plan_runner *runner, tn_plan **out_plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The builder's inner side: builds of one network that share what they measure. The public side is
 * tenon/builder.h. */
#ifndef TN_BUILDER_BUILDER_H
#define TN_BUILDER_BUILDER_H

#include "builder/timing/timing_cache.h"

#include <tenon/builder.h>

/* tn_build with a timing cache that is open already, instead of the options' `timing_cache`:
 * builds that share one see equal timings, so that they differ by what they are asked for alone.
 * `cache` null: as tn_build. */
tn_status tn_build_with_cache(tn_graph *graph, const tn_builder_options *options,
                              tn_timing_cache *cache, tn_plan **out_plan);

#endif

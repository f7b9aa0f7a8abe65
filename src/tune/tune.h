/* SPDX-License-Identifier: Apache-2.0 */
/* Builds that run the networks which they consider; the public one is tn_build. */
#ifndef TN_TUNE_TUNE_H
#define TN_TUNE_TUNE_H

#include "builder/builder.h"

/* tn_build with a timing cache that is open already (tn_build_with); null: the options'. */
tn_status tn_tune_build(tn_graph *graph, const tn_builder_options *options, tn_timing_cache *cache,
                        tn_plan **out_plan);

#endif

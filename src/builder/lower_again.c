/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering for a loaded plan, where the builder is part of the library. */
#include "program/lower_again.h"
#include "builder/lower/lower.h"

bool tn_can_lower_again(void) {
    return true;
}

tn_status tn_lower_again(const tn_graph *graph, const tn_inference_plan *plan,
                         const tn_inference *const inferences[TN_POINTS],
                         const tn_lower_again_options *options, tn_arena *arena,
                         tn_program *out_program) {
    const tn_lower_options all = {.device = options->device,
                                  .threads = options->threads,
                                  .no_timing = true,
                                  .forced = options->forced,
                                  .pool = options->pool,
                                  .precision = options->precision,
                                  .second_precision = options->second_precision,
                                  .scales = options->scales,
                                  .is_unfused = options->is_unfused};
    return tn_lower(graph, plan, inferences, &all, arena, out_program);
}

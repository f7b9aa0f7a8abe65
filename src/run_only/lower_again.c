/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering for a loaded plan, in a library without a builder: refused. */
#include "program/lower_again.h"
#include "base/status.h"

bool tn_can_lower_again(void) {
    return false;
}

tn_status tn_lower_again(const tn_graph *graph, const tn_inference_plan *plan,
                         const tn_inference *const inferences[TN_POINTS],
                         const tn_lower_again_options *options, tn_arena *arena,
                         tn_program *out_program) {
    (void)graph, (void)plan, (void)inferences, (void)arena, (void)out_program;
    return tn_fail(
        TN_ERROR_UNSUPPORTED,
        options->is_unfused
            ? "these shapes break what was fused when the plan was built, and a run-only "
              "library chooses no kernels: build the plan with a profile that has them"
            : "the plan has no kernels chosen for this machine, and a run-only library "
              "chooses none: build it for this machine");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering, from a graph to a program: the order of the work. lower_private.h says where each part
 * is done. */
#include "base/status.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_chains.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_pins.h"
#include "builder/lower/lower_storages.h"
#include "builder/notes/lower_notes.h"
#include "builder/timing/timing.h"

static void end(tn_lowering *lowering) {
    tn_timing_end(lowering);
    tn_lower_kernels_release(lowering);
    tn_arena_destroy(lowering->arena);
}

static tn_status lower(tn_lowering *lowering, tn_arena *arena, tn_program *out_program) {
    TN_TRY(tn_lower_facts_find(lowering));
    TN_TRY(tn_lower_pins_parse(lowering));
    TN_TRY(tn_lower_storages_find(lowering));
    TN_TRY(tn_lower_chains_find(lowering));
    TN_TRY(tn_lower_candidates_find(lowering));
    TN_TRY(tn_lower_pins_check(lowering));
    TN_TRY(tn_timing_begin(lowering));
    TN_TRY(tn_lower_costs(lowering));
    uint32_t *choice =
        tn_arena_allocate(lowering->arena, lowering->graph->node_count + 1, sizeof *choice);
    if (!choice) return tn_fail_memory("the choice of kernels");
    TN_TRY(tn_progress_tell(lowering->options->progress, "choose", 0, 2));
    TN_TRY(tn_lower_choose(lowering, choice));
    TN_TRY(tn_lower_try(lowering, choice));
    TN_TRY(tn_progress_tell(lowering->options->progress, "choose", 1, 2));
    if (lowering->options->notes) {
        TN_TRY(tn_lower_note(lowering, choice, arena, lowering->options->notes));
        TN_TRY(tn_lower_record(lowering, choice, arena, lowering->options->notes));
    }
    TN_TRY(tn_lower_emit(lowering, choice, arena, out_program));
    if (lowering->options->keeps_states)
        TN_TRY(tn_lower_states(lowering, choice, arena, out_program));
    return tn_progress_tell(lowering->options->progress, "choose", 2, 2);
}

tn_status tn_lower(const tn_graph *graph, const tn_inference_plan *plan,
                   const tn_inference *const inferences[TN_POINTS], const tn_lower_options *options,
                   tn_arena *arena, tn_program *out_program) {
    tn_error_copy before;
    tn_lowering lowering = {.graph = graph,
                            .plan = plan,
                            .points = {inferences[0], inferences[1], inferences[2], inferences[3]},
                            .options = options};
    if (graph->node_count >= UINT32_MAX || graph->tensor_count >= UINT32_MAX)
        return tn_fail(TN_ERROR_MEMORY, "the graph is too large");
    tn_error_save(&before); /* kernels that say no leave their reasons behind */
    tn_status status = tn_arena_create(graph->allocator, &lowering.arena);
    if (status == TN_OK) status = lower(&lowering, arena, out_program);
    end(&lowering);
    if (status == TN_OK) tn_error_restore(&before);
    return status;
}

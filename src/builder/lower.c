/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering, from a graph to a program: the order of the work. lower_private.h says where each part
 * is done. */
#include "base/status.h"
#include "builder/lower/lower_private.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_cache.h"

static tn_status begin(tn_lowering *lowering) {
    TN_TRY(tn_arena_create(lowering->graph->allocator, &lowering->arena));
    TN_TRY(tn_timing_cache_open(lowering->graph->runtime, NULL, &lowering->own_cache));
    lowering->cache = lowering->options->cache ? lowering->options->cache : lowering->own_cache;
    return TN_OK;
}

static void end(tn_lowering *lowering) {
    if (lowering->arena) tn_timing_end(lowering);
    for (size_t i = 0; i < lowering->kernels_count; i++)
        tn_registry_free_kernels(tn_runtime_registry(lowering->graph->runtime),
                                 lowering->kernels[i].entries, lowering->kernels[i].count);
    tn_deallocate(lowering->graph->allocator, lowering->kernels);
    tn_timing_cache_close(lowering->own_cache);
    tn_arena_destroy(lowering->arena);
}

static tn_status lower(tn_lowering *lowering, tn_arena *arena, tn_program *out_program) {
    TN_TRY(tn_lower_facts(lowering));
    TN_TRY(tn_lower_pins_parse(lowering));
    TN_TRY(tn_lower_storages(lowering));
    TN_TRY(tn_lower_chains(lowering));
    TN_TRY(tn_lower_candidates(lowering));
    TN_TRY(tn_lower_pins_check(lowering));
    TN_TRY(tn_timing_begin(lowering));
    TN_TRY(tn_lower_costs(lowering));
    uint32_t *choice =
        tn_arena_allocate(lowering->arena, lowering->graph->node_count + 1, sizeof *choice);
    if (!choice) return tn_fail_memory("the choice of kernels");
    TN_TRY(tn_progress_tell(lowering->options->progress, "choose", 0, 2));
    TN_TRY(tn_lower_choose(lowering, choice));
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
    tn_status status = begin(&lowering);
    if (status == TN_OK) status = lower(&lowering, arena, out_program);
    end(&lowering);
    if (status == TN_OK) tn_error_restore(&before);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tn_build_accurate (tenon/calibrate.h): builds with a lower precision, measures against 32-bit
 * floats over the batches, and, where a bound says so, takes nodes back; see accuracy_private.h for
 * its parts.
 */
#include "base/status.h"
#include "calibrate/accuracy_private.h"
#include "plugin/runtime.h"

#include <math.h>

static tn_status check_accuracy_options(const tn_accuracy_options *options) {
    if (!options || options->size < sizeof(*options))
        return tn_fail(TN_ERROR_ARGUMENT, "an accurate build needs options with `size` set");
    if (isnan(options->max_loss))
        return tn_fail(TN_ERROR_RANGE, "the bound on the loss of accuracy is not a number");
    return tn_batches_check(options->batches, options->build);
}

static tn_status start_search(tn_accuracy_state *state) {
    const tn_builder_options plain = tn_batch_run_float_options(&state->build);
    TN_TRY(tn_arena_create(state->allocator, &state->arena));
    TN_TRY(tn_timing_cache_open(state->graph->runtime, state->build.timing_cache, &state->cache));
    TN_TRY(tn_batch_run_init(&state->reference, state->graph, &plain, NULL));
    TN_TRY(tn_batch_run_init(&state->best, state->graph, &state->build, state->cache));
    state->output_count = tn_engine_output_count(state->reference.engine);
    state->losses =
        tn_arena_allocate(state->arena, state->output_count + (size_t)1, sizeof(*state->losses));
    return state->losses ? TN_OK : tn_fail_memory("a measurement");
}

static tn_status measure_and_search(tn_accuracy_state *state) {
    double loss;
    TN_TRY(tn_accuracy_measure(state, &state->best, "measure", UINT64_MAX, state->losses, &loss));
    state->trials[state->trial_count++] = (tn_accuracy_trial){0, loss};
    if (state->options->max_loss < 0 || loss <= state->options->max_loss) return TN_OK;
    return tn_accuracy_search(state);
}

tn_status tn_build_accurate(tn_graph *graph, const tn_accuracy_options *options, tn_plan **out_plan,
                            char **out_report_json) {
    char *report = NULL;
    if (!graph || !out_plan)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_build_accurate needs a graph and a plan");
    TN_TRY(check_accuracy_options(options));
    tn_accuracy_state state = {
        .options = options, .graph = graph, .allocator = tn_runtime_allocator(graph->runtime)};
    tn_status status;
    state.build = tn_batch_run_whole_options(options->build);
    TN_GO(start_search(&state));
    TN_GO(measure_and_search(&state));
    if (out_report_json) TN_GO(tn_accuracy_report(&state, &report));
    *out_plan = state.best.plan;
    state.best.plan = NULL;
    if (out_report_json) *out_report_json = report;
done:
    tn_batch_run_deinit(&state.best);
    tn_batch_run_deinit(&state.reference);
    tn_timing_cache_close(state.cache);
    tn_arena_destroy(state.arena);
    return status;
}

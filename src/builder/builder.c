/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder: from a graph to a plan. Copies the graph, reads the profiles, infers, runs the
 * passes (build_passes.c), infers again, lowers, and has the plan written with a report beside it
 * (build_plan.c). tn_build itself is src/tune's, which runs plans.
 */
#include "builder/builder.h"
#include "base/status.h"
#include "builder/build_state.h"
#include "builder/pins/node_pins.h"
#include "device/cpu/cpu.h"
#include "plan/plan.h"
#include "plugin/devices.h"

#include <tenon/border.h>
#include <inttypes.h>
#include <string.h>

static tn_status check_arrays(const tn_builder_options *options) {
    if (options->profile_input_count > 0 && !options->profile_inputs)
        return tn_fail(TN_ERROR_ARGUMENT, "profiles are counted but not given");
    TN_TRY(tn_options_check_array(options->keep_count, options->keep, "nodes to keep"));
    TN_TRY(tn_options_check_array(options->without_rewrite_count, options->without_rewrites,
                                  "rewrites to leave out"));
    TN_TRY(tn_options_check_array(options->border_count, options->borders, "borders"));
    return tn_options_check_array(options->refit_count, options->refit, "constants to refit");
}

/* What the caller knows of the options; the rest is zero. */
static tn_status read_builder_options(const tn_builder_options *given,
                                      tn_builder_options *out_options) {
    TN_TRY(tn_options_read(out_options, sizeof(*out_options), given, "the builder options"));
    out_options->size = sizeof(*out_options);
    TN_TRY(tn_options_check_flags(out_options->flags,
                                  TN_BUILD_NO_TIMING | TN_BUILD_NO_FUSION | TN_BUILD_REFERENCE |
                                      TN_BUILD_CHECKED | TN_BUILD_REFIT |
                                      TN_BUILD_NO_PACKED_WEIGHTS | TN_BUILD_KEEP_HALF,
                                  "the builder options"));
    TN_TRY(check_arrays(out_options));
    if (out_options->without_rewrite_count > 0 &&
        (out_options->flags & (TN_BUILD_REFERENCE | TN_BUILD_NO_FUSION)))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "rewrites are to be left out of a build that applies none: expected no "
                       "TN_BUILD_REFERENCE and no TN_BUILD_NO_FUSION beside them");
    if (out_options->precision > TN_PRECISION_I8)
        return tn_fail(TN_ERROR_ARGUMENT, "there is no precision %" PRIu32 "; the last is %d (I8)",
                       out_options->precision, TN_PRECISION_I8);
    if (out_options->second_precision != 0 &&
        (out_options->precision != TN_PRECISION_I8 ||
         (out_options->second_precision != TN_PRECISION_F16 &&
          out_options->second_precision != TN_PRECISION_BF16)))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "precision %" PRIu32 " beside %" PRIu32
                       ": a second one is F16 or BF16, beside I8",
                       out_options->second_precision, out_options->precision);
    TN_TRY(tn_options_check_threads(out_options->threads, "the builder options"));
    if (out_options->threads == 0) out_options->threads = tn_cpu_core_count();
    return TN_OK;
}

/* One line, however many there are: the report has them all. */
static void warn_without_scale(const build_state *state) {
    const tn_lower_notes *notes = &state->profiles[0].notes;
    if (notes->without_scale_count == 0) return;
    tn_runtime_log(state->graph->runtime, TN_LOG_WARNING,
                   "%zu tensors have no scale and stay in 32-bit floats, tensor '%s' first: "
                   "calibrate with inputs, or give a table that names them",
                   notes->without_scale_count, state->graph->tensors[notes->without_scale[0]].name);
}

static tn_status lower(build_state *state, built_profile *profile) {
    const tn_builder_options *options = state->options;
    const char *forced = options->force_kernel;
    const bool can_run = tn_build_can_run(state);
    const tn_lower_runner runner = can_run ? tn_build_runner(state) : (tn_lower_runner){0};
    tn_lower_options lower_options = {
        .device = state->device.device,
        .threads = options->threads,
        .no_timing = options->flags & TN_BUILD_NO_TIMING,
        .no_fusion = options->flags & TN_BUILD_NO_FUSION,
        .reference_only = options->flags & TN_BUILD_REFERENCE,
        .is_checked = options->flags & TN_BUILD_CHECKED,
        .keeps_states = true,
        .keeps_packed = !(options->flags & TN_BUILD_NO_PACKED_WEIGHTS),
        .forced = forced ? forced : tn_runtime_forced_kernels(state->graph->runtime),
        .cache = state->cache,
        .timing_seconds = options->timing_seconds,
        .timing_shares = state->sets.count,
        .pool = &state->pool,
        .precision = options->precision,
        .second_precision = options->second_precision,
        .scales = state->scales,
        .is_kept = state->is_kept,
        .node_pins = state->node_pins,
        .notes = &profile->notes,
        .progress = &state->progress,
        .runner = can_run ? &runner : NULL};
    return tn_lower(state->graph, &profile->shapes.plan,
                    (const tn_inference *const *)profile->shapes.points, &lower_options,
                    state->arena, &profile->program);
}

/* Where there is one profile, errors do not speak of it. */
static tn_status at_profile(const build_state *state, uint32_t profile, tn_status status) {
    if (status == TN_OK || state->sets.count == 1) return status;
    return tn_error_at(status, "profile %" PRIu32, profile);
}

static tn_status lower_all(build_state *state) {
    TN_TRY(tn_build_storages(state));
    TN_TRY(tn_build_load_kernels(state));
    tn_runtime *runtime = state->graph->runtime;
    tn_cpu_pool_init(&state->pool, state->options->threads, tn_runtime_workers(runtime),
                     tn_registry_has_trait(tn_runtime_registry(runtime), TN_KERNEL_OPENMP));
    for (uint32_t p = 0; p < state->sets.count; p++) {
        state->lowered = p;
        TN_TRY(at_profile(state, p, lower(state, &state->profiles[p])));
        state->profiles[p].program.profile = p;
    }
    warn_without_scale(state);
    return TN_OK;
}

/* A cache that cannot be kept costs the next build its time, and nothing else. */
static tn_status save_cache(const build_state *state) {
    tn_status status = state->cache ? tn_timing_cache_save(state->cache) : TN_OK;
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    tn_runtime_log(state->graph->runtime, TN_LOG_WARNING, "timings are not kept: %s",
                   tn_last_error()->message);
    return TN_OK;
}

/* Of a build that was stopped: the next one need not measure them again. */
static void keep_timings(const build_state *state) {
    tn_error_copy error;
    tn_error_save(&error);
    (void)save_cache(state);
    tn_error_restore(&error);
}

/* The shapes of the graph that the passes left, in each profile; bodies note what is asked. */
static tn_status infer_profiles(build_state *state) {
    const uint32_t count = state->sets.count;
    state->profiles = tn_arena_allocate(state->arena, count, sizeof *state->profiles);
    if (!state->profiles) return tn_fail_memory("a build");
    TN_TRY(tn_pass_mark_value_steps(state->graph, state->arena));
    for (uint32_t p = 0; p < count; p++) {
        built_profile *profile = &state->profiles[p];
        profile->ranges = tn_profile_sets_at(&state->sets, p);
        TN_TRY(at_profile(
            state, p,
            tn_profile_shapes_init(&profile->shapes, state->graph, profile->ranges, state->arena)));
    }
    return TN_OK;
}

static tn_status build(build_state *state) {
    tn_runtime *runtime = state->graph->runtime;
    const char *cache = state->options->timing_cache;
    TN_TRY(tn_arena_create(state->graph->allocator, &state->arena));
    TN_TRY(tn_profile_sets_make(state->graph, state->options, state->arena, &state->sets));
    TN_TRY(tn_profile_sets_hull(state->graph, &state->sets, state->arena, &state->hull));
    TN_TRY(tn_build_run_passes(state));
    TN_TRY(tn_build_tell_pass(state, 3));
    tn_bodies_record(state->graph);
    TN_TRY(infer_profiles(state));
    TN_TRY(tn_build_tell_pass(state, TN_BUILD_PASS_STEPS));
    if (cache && !state->cache) {
        TN_TRY(tn_timing_cache_open(runtime, cache, &state->own_cache));
        state->cache = state->own_cache;
    }
    TN_TRY(tn_bodies_build(state));
    const tn_status status = lower_all(state);
    if (status == TN_ERROR_CANCELLED) keep_timings(state);
    TN_TRY(status);
    TN_TRY(save_cache(state));
    TN_TRY(tn_progress_tell(&state->progress, "write", 0, 1));
    TN_TRY(tn_build_plan(state));
    return tn_progress_tell(&state->progress, "write", 1, 1);
}

static tn_status build_for(tn_graph *graph, const tn_builder_options *options,
                           tn_timing_cache *cache, const tn_plan_runner *runner, bool has_report,
                           tn_plan **out_plan);

/* A build of a copy that has the borders which the options ask for. */
static tn_status build_bordered(tn_graph *graph, tn_builder_options options, tn_timing_cache *cache,
                                const tn_plan_runner *runner, bool has_report, tn_plan **out_plan) {
    tn_graph *copy;
    TN_TRY(tn_graph_copy(graph, &copy));
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < options.border_count && status == TN_OK; i++)
        status = tn_graph_set_border(copy, options.borders[i]);
    options.border_count = 0;
    if (status == TN_OK) status = build_for(copy, &options, cache, runner, has_report, out_plan);
    tn_graph_destroy(copy);
    return status;
}

static tn_status build_for(tn_graph *graph, const tn_builder_options *options,
                           tn_timing_cache *cache, const tn_plan_runner *runner, bool has_report,
                           tn_plan **out_plan) {
    tn_builder_options known;
    build_state state = {.options = &known,
                         .given = graph,
                         .cache = cache,
                         .runner = runner,
                         .has_report = has_report};
    if (!graph || !out_plan) return tn_fail(TN_ERROR_ARGUMENT, "tn_build needs a graph and a plan");
    TN_TRY(read_builder_options(options, &known));
    if (known.border_count > 0)
        return build_bordered(graph, known, cache, runner, has_report, out_plan);
    state.progress = (tn_progress){.function = known.progress, .user = known.progress_user};
    TN_TRY(tn_build_check_kept(graph, &known));
    TN_TRY(tn_node_pins_check(graph, &known));
    TN_TRY(tn_build_load_kernels_first(&state));
    TN_TRY(tn_device_take(graph->runtime, known.device ? known.device : "cpu", &state.device));
    tn_status status = tn_graph_copy(graph, &state.graph);
    if (status == TN_OK) status = tn_pass_mark_refit(state.graph, &known);
    if (status == TN_OK) status = build(&state);
    tn_timing_cache_close(state.own_cache);
    for (uint32_t p = 0; state.profiles && p < state.sets.count; p++) {
        tn_report_memory_deinit(&state.profiles[p].memory, graph->allocator);
        tn_profile_shapes_deinit(&state.profiles[p].shapes);
    }
    tn_profile_shapes_deinit(&state.before);
    tn_extent_proof_deinit(&state.proof);
    tn_pass_context_deinit(&state.passes);
    if (status == TN_OK) {
        tn_plan_keep(state.plan, &(tn_plan_sources){state.arena, state.graph});
        *out_plan = state.plan;
    } else {
        tn_plan_destroy(state.plan);
        tn_arena_destroy(state.arena);
        tn_graph_destroy(state.graph);
    }
    tn_device_give_back(&state.device);
    return status;
}

tn_status tn_build_with(tn_graph *graph, const tn_builder_options *options, tn_timing_cache *cache,
                        const tn_plan_runner *runner, tn_plan **out_plan) {
    return build_for(graph, options, cache, runner, true, out_plan);
}

tn_status tn_build_body(tn_graph *graph, const tn_builder_options *options, tn_timing_cache *cache,
                        tn_plan **out_plan) {
    return build_for(graph, options, cache, NULL, false, out_plan);
}

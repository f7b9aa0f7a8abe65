/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder: from a graph to a plan. Copies the graph, reads the profiles, infers, runs the
 * passes, infers again, lowers, and has the plan written (src/plan) with a report beside it.
 */
#include "builder/builder.h"
#include "base/status.h"
#include "base/text.h"
#include "builder/bodies.h"
#include "builder/declared.h"
#include "builder/lower/lower.h"
#include "builder/lower/node_pins.h"
#include "builder/passes/passes.h"
#include "builder/report/report.h"
#include "builder/rewrite/extent_proof.h"
#include "device/cpu/cpu.h"
#include "plan/plan.h"
#include "plugin/devices.h"
#include "program/profile.h"

#include <inttypes.h>
#include <string.h>

typedef struct build_state {
    const tn_builder_options *options;
    tn_graph *given; /* the caller's */
    tn_graph *graph; /* a copy with the same numbers of tensors */
    tn_arena *arena;
    tn_plan_profile *profiles;
    tn_profile_shapes before; /* the passes */
    tn_profile_shapes after;
    tn_pass_context passes;
    tn_extent_proof proof;
    tn_timing_cache *cache, *own_cache; /* own: opened here */
    tn_used_device device;
    tn_thread_pool pool;
    tn_program program;
    tn_lower_notes notes;
    bool *is_kept;          /* by node of the graph that is lowered */
    float *scales;          /* by tensor of it */
    tn_node_pin *node_pins; /* by node of it */
    tn_plan *plan;
} build_state;

/* What the caller knows of the options; the rest is zero. */
static tn_status read_options(const tn_builder_options *given, tn_builder_options *out_options) {
    *out_options = (tn_builder_options){.size = sizeof *out_options};
    if (given) {
        if (given->size < sizeof given->size || given->size > UINT16_MAX)
            return tn_fail(TN_ERROR_ARGUMENT, "the builder options' `size` is not set");
        memcpy(out_options, given,
               given->size < sizeof *out_options ? given->size : sizeof *out_options);
    }
    if (out_options->profile_input_count > 0 && !out_options->profile_inputs)
        return tn_fail(TN_ERROR_ARGUMENT, "profiles are counted but not given");
    if (out_options->keep_count > 0 && !out_options->keep)
        return tn_fail(TN_ERROR_ARGUMENT, "nodes to keep are counted but not given");
    if (out_options->without_rewrite_count > 0 && !out_options->without_rewrites)
        return tn_fail(TN_ERROR_ARGUMENT, "rewrites to leave out are counted but not given");
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
    if (out_options->threads == 0) out_options->threads = tn_cpu_core_count();
    return TN_OK;
}

/* Tensors whose shapes are not what inference says, or may not be. */
static tn_status note_unsure(const build_state *state, bool *is_unsure) {
    const tn_graph *graph = state->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (node->outputs[i] == TN_NO_TENSOR) continue;
            uint32_t flags = tn_graph_output_port(node->entry->op, i)->flags;
            is_unsure[node->outputs[i]] = state->before.plan.is_after_run[n] ||
                                          (flags & TN_PORT_SIZED_BY_RUN) ||
                                          tn_graph_output_kind(node, i);
        }
    }
    for (size_t i = 0; i < graph->input_count; i++)
        if (!graph->tensors[graph->inputs[i]].has_shape) is_unsure[graph->inputs[i]] = true;
    return TN_OK;
}

static tn_status start_passes(build_state *state) {
    tn_graph *graph = state->graph;
    bool *is_fixed = tn_arena_allocate(state->arena, graph->input_count + 1, sizeof(bool));
    bool *is_unsure = tn_arena_allocate(state->arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_fixed || !is_unsure) return tn_fail_memory("a build");
    for (size_t i = 0; i < graph->input_count; i++)
        is_fixed[i] = tn_profile_is_fixed(&state->profiles[i]);
    TN_TRY(note_unsure(state, is_unsure));
    for (int point = 0; point < TN_POINTS; point++)
        state->passes.points[point] = state->before.points[point];
    state->passes.is_fixed_input = is_fixed;
    state->passes.is_unsure = is_unsure;
    state->passes.device = state->device.device;
    state->passes.without = state->options->without_rewrites;
    state->passes.without_count = state->options->without_rewrite_count;
    if (state->options->flags & (TN_BUILD_REFERENCE | TN_BUILD_NO_FUSION)) return TN_OK;
    state->passes.proof = &state->proof;
    return tn_extent_proof_init(&state->proof, graph, state->profiles, &state->before,
                                state->arena);
}

static tn_status run_passes(build_state *state) {
    tn_pass_context *passes = &state->passes;
    passes->graph = state->graph;
    TN_TRY(tn_graph_sort(state->graph));
    TN_TRY(tn_pass_drop_dead(passes)); /* what is dead need not even be inferred */
    TN_TRY(tn_profile_shapes_init(&state->before, state->graph, state->profiles, state->arena));
    TN_TRY(start_passes(state));
    tn_declared_compare(state->given, &state->before, state->passes.is_unsure);
    if (!(state->options->flags & TN_BUILD_REFERENCE)) TN_TRY(tn_pass_drop_identities(passes));
    const bool is_fused = !(state->options->flags & (TN_BUILD_REFERENCE | TN_BUILD_NO_FUSION));
    if (is_fused) TN_TRY(tn_pass_rewrite_constants(passes));
    TN_TRY(tn_pass_fold_constants(passes));
    if (is_fused) {
        TN_TRY(tn_pass_rewrite(passes));
        TN_TRY(tn_pass_fold_affine(passes));
    }
    if (!(state->options->flags & TN_BUILD_REFERENCE)) TN_TRY(tn_pass_merge_equal(passes));
    return tn_pass_drop_dead(passes);
}

/* Names are those of the caller's graph: the passes may have removed some nodes. */
static tn_status check_kept(const tn_graph *graph, const tn_builder_options *options) {
    for (uint32_t k = 0; k < options->keep_count; k++) {
        bool is_found = false;
        tn_nearest nearest;
        if (!options->keep[k])
            return tn_fail(TN_ERROR_ARGUMENT, "the name of a node to keep is null");
        tn_nearest_init(&nearest, options->keep[k]);
        for (size_t n = 0; n < graph->node_count && !is_found; n++) {
            is_found = strcmp(graph->nodes[n].name, options->keep[k]) == 0;
            tn_nearest_offer(&nearest, graph->nodes[n].name);
        }
        if (!is_found)
            return tn_fail(TN_ERROR_NOT_FOUND,
                           "there is no node '%s' to be kept in 32-bit floats%s%s%s",
                           options->keep[k], nearest.best ? "; the nearest is '" : "",
                           nearest.best ? nearest.best : "", nearest.best ? "'" : "");
    }
    return TN_OK;
}

static bool is_named_to_keep(const tn_builder_options *options, const char *node) {
    for (uint32_t k = 0; k < options->keep_count; k++)
        if (strcmp(node, options->keep[k]) == 0) return true;
    return false;
}

/* Who makes what a node of the caller's graph made; where nobody does, since the passes have made
 * one node of several, the nodes that read it are followed instead. */
static void follow_kept(const build_state *state, const tn_graph_node *node, bool *is_followed) {
    const tn_graph *given = state->given;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_tensor_id made = node->outputs[i];
        if (made == TN_NO_TENSOR || state->graph->tensors[made].is_constant) continue;
        const tn_tensor_id now = tn_pass_stand_in(&state->passes, made);
        const uint32_t maker = state->graph->tensors[now].producer;
        if (maker != TN_NO_NODE) {
            state->is_kept[maker] = true;
            continue;
        }
        for (size_t n = 0; n < given->node_count; n++)
            for (uint32_t k = 0; k < given->nodes[n].input_count; k++)
                is_followed[n] = is_followed[n] || given->nodes[n].inputs[k] == made;
    }
}

static tn_status mark_kept(const build_state *state) {
    const tn_graph *given = state->given;
    const size_t count = given->node_count;
    bool *is_followed = tn_arena_allocate(state->arena, count + 1, sizeof(bool));
    bool *is_done = tn_arena_allocate(state->arena, count + 1, sizeof(bool));
    if (!is_followed || !is_done) return tn_fail_memory("a build");
    for (size_t n = 0; n < count && state->options->keep_count > 0; n++)
        is_followed[n] = is_named_to_keep(state->options, given->nodes[n].name);
    for (size_t n = 0; n < count;) {
        const bool is_new = is_followed[n] && !is_done[n];
        if (is_new) {
            is_done[n] = true;
            follow_kept(state, &given->nodes[n], is_followed);
        }
        n = is_new ? 0 : n + 1;
    }
    return TN_OK;
}

/* A tensor's scale, by its own name, by that of the output that it is, or by that of a tensor whose
 * place it took. */
static void read_scales(const build_state *state) {
    const tn_graph *graph = state->graph;
    const tn_calibration *table = state->options->calibration;
    for (size_t i = 0; i < graph->output_count; i++)
        tn_calibration_find(table, graph->output_names[i], &state->scales[graph->outputs[i]]);
    for (size_t t = 0; t < graph->tensor_count; t++)
        tn_calibration_find(table, graph->tensors[t].name, &state->scales[t]);
    for (size_t t = 0; t < graph->tensor_count; t++) {
        const tn_tensor_id now = tn_pass_stand_in(&state->passes, (tn_tensor_id)t);
        if (state->scales[now] == 0) state->scales[now] = state->scales[t];
    }
}

static tn_status prepare_storages(build_state *state) {
    const tn_graph *graph = state->graph;
    state->is_kept = tn_arena_allocate(state->arena, graph->node_count + 1, sizeof(bool));
    state->scales = tn_arena_allocate(state->arena, graph->tensor_count + 1, sizeof(float));
    if (!state->is_kept || !state->scales) return tn_fail_memory("a build");
    TN_TRY(mark_kept(state));
    TN_TRY(tn_node_pins_make(state->given, graph, &state->passes, state->options, state->arena,
                             &state->node_pins));
    for (size_t n = 0; n < graph->node_count; n++)
        if (state->node_pins[n].type != TN_NONE)
            state->is_kept[n] = state->node_pins[n].type == TN_F32;
    read_scales(state);
    return TN_OK;
}

/* One line, however many there are: the report has them all. */
static void warn_without_scale(const build_state *state) {
    const tn_lower_notes *notes = &state->notes;
    if (notes->without_scale_count == 0) return;
    tn_runtime_log(state->graph->runtime, TN_LOG_WARNING,
                   "%zu tensors have no scale and stay in 32-bit floats, tensor '%s' first: "
                   "calibrate with inputs, or give a table that names them",
                   notes->without_scale_count, state->graph->tensors[notes->without_scale[0]].name);
}

static tn_status lower(build_state *state) {
    const tn_builder_options *options = state->options;
    const char *forced = options->force_kernel;
    TN_TRY(prepare_storages(state));
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
        .pool = &state->pool,
        .precision = options->precision,
        .second_precision = options->second_precision,
        .scales = state->scales,
        .is_kept = state->is_kept,
        .node_pins = state->node_pins,
        .notes = &state->notes};
    tn_cpu_pool_init(&state->pool, options->threads);
    TN_TRY(tn_lower(state->graph, &state->after.plan, state->after.points, &lower_options,
                    state->arena, &state->program));
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

/* What all points of the profile agree on; nothing of what only a run decides. */
static tn_plan_output describe_output(const build_state *state, tn_tensor_id id) {
    const tn_inference *const *points = state->after.points;
    tn_plan_output output = {.type = TN_NONE};
    if (id >= state->given->tensor_count) return output; /* of a pass's own making */
    for (int point = 0; point < TN_POINTS; point++)
        if (state->passes.is_unsure[id] || !points[point]->tensors[id].is_known) return output;
    output.type = points[1]->tensors[id].storage.tensor.type;
    output.shape = points[1]->tensors[id].storage.shape;
    output.has_shape = true;
    for (int point = 0; point < TN_POINTS; point++) {
        const tn_shape *other = &points[point]->tensors[id].storage.shape;
        output.has_shape = output.has_shape && other->rank == output.shape.rank;
        for (uint32_t i = 0; output.has_shape && i < other->rank; i++)
            if (other->extents[i] != output.shape.extents[i]) output.shape.extents[i] = -1;
    }
    return output;
}

static tn_status write_plan(build_state *state, const tn_report_memory *memory) {
    const tn_graph *graph = state->graph;
    tn_plan_output *outputs =
        tn_arena_allocate(state->arena, graph->output_count + 1, sizeof *outputs);
    if (!outputs) return tn_fail_memory("a plan");
    for (size_t i = 0; i < graph->output_count; i++)
        outputs[i] = describe_output(state, graph->outputs[i]);
    const tn_program *programs[] = {&state->program};
    tn_report_source source = {.graph = state->graph,
                               .profiles = state->profiles,
                               .shapes = &state->after,
                               .program = &state->program,
                               .device = state->device.device,
                               .notes = &state->notes,
                               .node_pins = state->node_pins,
                               .passes = &state->passes,
                               .given_node_count = state->given->node_count,
                               .memory = memory};
    char *report = NULL;
    TN_TRY(tn_report_make(&source, &report));
    tn_status status =
        tn_plan_write_described(state->graph, state->profiles, outputs, 1, programs, &state->plan);
    if (status != TN_OK) {
        tn_deallocate(state->graph->allocator, report);
        return status;
    }
    tn_deallocate(state->plan->allocator, state->plan->report);
    state->plan->report = report;
    return TN_OK;
}

static tn_status plan_memory_and_write(build_state *state) {
    const tn_report_steps steps = {
        .graph = state->graph, .shapes = state->after.points[1], .program = &state->program};
    tn_report_memory memory;
    TN_TRY(tn_report_memory_plan(&steps, &memory));
    tn_status status = tn_report_memory_note(&memory, &state->program, state->arena);
    if (status == TN_OK) status = write_plan(state, &memory);
    tn_report_memory_deinit(&memory, state->graph->allocator);
    return status;
}

static tn_status build(build_state *state) {
    tn_runtime *runtime = state->graph->runtime;
    const char *cache = state->options->timing_cache;
    TN_TRY(tn_arena_create(state->graph->allocator, &state->arena));
    TN_TRY(tn_profile_make(state->graph, state->options, state->arena, &state->profiles));
    TN_TRY(run_passes(state));
    tn_bodies_record(state->graph);
    TN_TRY(tn_profile_shapes_init(&state->after, state->graph, state->profiles, state->arena));
    if (cache && !state->cache) {
        TN_TRY(tn_timing_cache_open(runtime, cache, &state->own_cache));
        state->cache = state->own_cache;
    }
    TN_TRY(tn_bodies_build(state->graph, &state->after.plan, state->options, state->cache));
    TN_TRY(lower(state));
    TN_TRY(save_cache(state));
    return plan_memory_and_write(state);
}

tn_status tn_build_with_cache(tn_graph *graph, const tn_builder_options *options,
                              tn_timing_cache *cache, tn_plan **out_plan) {
    tn_builder_options known;
    build_state state = {.options = &known, .given = graph, .cache = cache};
    if (!graph || !out_plan) return tn_fail(TN_ERROR_ARGUMENT, "tn_build needs a graph and a plan");
    TN_TRY(read_options(options, &known));
    TN_TRY(check_kept(graph, &known));
    TN_TRY(tn_node_pins_check(graph, &known));
    TN_TRY(tn_runtime_load_companions(graph->runtime));
    TN_TRY(tn_device_take(graph->runtime, known.device ? known.device : "cpu", &state.device));
    tn_status status = tn_graph_copy(graph, &state.graph);
    if (status == TN_OK) status = build(&state);
    tn_timing_cache_close(state.own_cache);
    tn_profile_shapes_deinit(&state.after);
    tn_profile_shapes_deinit(&state.before);
    tn_extent_proof_deinit(&state.proof);
    tn_pass_context_deinit(&state.passes);
    tn_arena_destroy(state.arena);
    tn_graph_destroy(state.graph);
    tn_device_give_back(&state.device);
    if (status == TN_OK) *out_plan = state.plan;
    return status;
}

tn_status tn_build(tn_graph *graph, const tn_builder_options *options, tn_plan **out_plan) {
    return tn_build_with_cache(graph, options, NULL, out_plan);
}

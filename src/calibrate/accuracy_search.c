/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision under a bound: each step that has the lower precision is measured alone, all
 * others in 32-bit floats, on some of the batches; then those that lose most go back, and how many
 * must is found by halving, since the loss falls (all but exactly) with each that goes back.
 */
#include "base/status.h"
#include "calibrate/accuracy_private.h"
#include "run/engine_private.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PROBES 16

/* ----------------------------------------------------------------------------------------------
 * what has a lower precision */

static bool is_lowered_value(const tn_accuracy_state *state, const tn_program_value *value) {
    switch (state->build.precision) {
    case TN_PRECISION_I8:
        return value->quantization != NULL ||
               (state->build.second_precision == TN_PRECISION_F16 && value->type == TN_F16) ||
               (state->build.second_precision == TN_PRECISION_BF16 && value->type == TN_BF16);
    case TN_PRECISION_F16:
        return value->type == TN_F16;
    case TN_PRECISION_BF16:
        return value->type == TN_BF16;
    default:
        return false;
    }
}

static bool is_lowered(const tn_accuracy_state *state, const tn_program *program, uint32_t count,
                       const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != TN_NO_VALUE && is_lowered_value(state, &program->values[values[i]]))
            return true;
    return false;
}

/* Views go with their neighbours: nothing is computed in them. */
static bool is_lowered_step(const tn_accuracy_state *state, const tn_program *program,
                            const tn_program_step *step) {
    return step->kind == TN_STEP_KERNEL && !step->is_host &&
           (is_lowered(state, program, step->input_count, step->inputs) ||
            is_lowered(state, program, step->operand_count, step->operands) ||
            is_lowered(state, program, step->output_count, step->outputs));
}

static bool has_lowered_step(const tn_accuracy_state *state, const tn_batch_run *run) {
    const tn_program *program = run->engine->program;
    for (uint32_t s = 0; s < program->step_count; s++)
        if (is_lowered_step(state, program, &program->steps[s])) return true;
    return false;
}

static tn_status fill_unit(const tn_accuracy_state *state, const tn_engine *engine,
                           const tn_program_step *step, tn_lowered_unit *unit) {
    const uint32_t count = step->epilogue_count + 1;
    const char **nodes = tn_arena_allocate(state->arena, count, sizeof(*nodes));
    if (!nodes) return tn_fail_memory("a search");
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = i == 0 ? step->node : step->epilogues[i - 1];
        nodes[i] = tn_arena_text(state->arena, engine->graph->nodes[node].name);
        if (!nodes[i]) return tn_fail_memory("a search");
    }
    *unit = (tn_lowered_unit){.nodes = nodes, .node_count = count};
    return TN_OK;
}

static tn_status find_units(tn_accuracy_state *state) {
    const tn_engine *engine = state->best.engine;
    const tn_program *program = engine->program;
    state->units =
        tn_arena_allocate(state->arena, program->step_count + (size_t)1, sizeof(*state->units));
    if (!state->units) return tn_fail_memory("a search");
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (!is_lowered_step(state, program, &program->steps[s])) continue;
        TN_TRY(fill_unit(state, engine, &program->steps[s], &state->units[state->unit_count]));
        state->unit_count++;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * builds with nodes kept */

typedef struct kept_names {
    const char **names;
    uint32_t count;
} kept_names;

/* Room for every name that may be kept, the caller's among them. */
static tn_status make_names(const tn_accuracy_state *state, kept_names *out_names) {
    size_t room = state->build.keep_count + state->graph->node_count;
    for (uint32_t i = 0; i < state->unit_count; i++)
        room += state->units[i].node_count;
    out_names->names = tn_arena_allocate(state->arena, room + 1, sizeof(*out_names->names));
    return out_names->names ? TN_OK : tn_fail_memory("a search");
}

static void keep_given(const tn_accuracy_state *state, kept_names *names) {
    names->count = 0;
    for (uint32_t i = 0; i < state->build.keep_count; i++)
        names->names[names->count++] = state->build.keep[i];
}

static void keep_unit(const tn_lowered_unit *unit, kept_names *names) {
    for (uint32_t i = 0; i < unit->node_count; i++)
        names->names[names->count++] = unit->nodes[i];
}

static bool is_in_unit(const tn_lowered_unit *unit, const char *name) {
    for (uint32_t i = 0; i < unit->node_count; i++)
        if (strcmp(unit->nodes[i], name) == 0) return true;
    return false;
}

/* Everything but one unit. */
static void keep_others(const tn_accuracy_state *state, const tn_lowered_unit *unit,
                        kept_names *names) {
    keep_given(state, names);
    for (size_t n = 0; n < state->graph->node_count; n++) {
        const tn_graph_node *node = &state->graph->nodes[n];
        if (!node->is_dead && !is_in_unit(unit, node->name))
            names->names[names->count++] = node->name;
    }
}

static tn_status build_keeping(tn_accuracy_state *state, const kept_names *names, uint32_t flags,
                               tn_batch_run *out_run) {
    tn_builder_options build = state->build;
    build.keep = names->names;
    build.keep_count = names->count;
    build.flags |= flags;
    return tn_batch_run_init(out_run, state->graph, &build);
}

/* ----------------------------------------------------------------------------------------------
 * the search */

static uint32_t probe_count(const tn_accuracy_state *state) {
    return state->options->probe_count ? state->options->probe_count : DEFAULT_PROBES;
}

/* The loss of a build that keeps these names, on some of the batches. `*out_is_lower`: it has
 * something in the lower precision. */
static tn_status probe(tn_accuracy_state *state, const kept_names *names, tn_output_loss *losses,
                       double *out_loss, bool *out_is_lower) {
    tn_batch_run run = {0};
    tn_status status = build_keeping(state, names, TN_BUILD_NO_TIMING, &run);
    *out_is_lower = status == TN_OK && has_lowered_step(state, &run);
    if (status == TN_OK)
        status = tn_accuracy_measure(state, &run, "probe", probe_count(state), losses, out_loss);
    tn_batch_run_deinit(&run);
    return status;
}

/* A unit that alone is not worth its conversions, so that a build leaves it in floats, counts by
 * what the whole gains without it. */
static tn_status probe_unit(tn_accuracy_state *state, double whole, tn_lowered_unit *unit,
                            kept_names *names, tn_output_loss *losses) {
    bool is_lower = false;
    double without = 0;
    keep_others(state, unit, names);
    TN_TRY(probe(state, names, losses, &unit->loss, &is_lower));
    if (is_lower) return TN_OK;
    keep_given(state, names);
    keep_unit(unit, names);
    TN_TRY(probe(state, names, losses, &without, &is_lower));
    unit->loss = whole > without ? whole - without : 0;
    return TN_OK;
}

static tn_status probe_all(tn_accuracy_state *state, kept_names *names, tn_output_loss *losses) {
    double whole = 0;
    bool is_lower = false;
    keep_given(state, names);
    TN_TRY(probe(state, names, losses, &whole, &is_lower));
    for (uint32_t i = 0; i < state->unit_count; i++)
        TN_TRY(tn_error_at(probe_unit(state, whole, &state->units[i], names, losses),
                           "measuring node '%s' alone", state->units[i].nodes[0]));
    return TN_OK;
}

static int compare_losses(const void *a, const void *b) {
    const double x = ((const tn_lowered_unit *)a)->loss, y = ((const tn_lowered_unit *)b)->loss;
    return (x < y) - (x > y);
}

/* Builds with the first `count` units kept; becomes the best when the bound holds. */
static tn_status try_count(tn_accuracy_state *state, uint32_t count, kept_names *names,
                           tn_output_loss *losses, bool *out_holds) {
    tn_batch_run run = {0};
    double loss = 0;
    keep_given(state, names);
    for (uint32_t i = 0; i < count; i++)
        keep_unit(&state->units[i], names);
    tn_status status = build_keeping(state, names, 0, &run);
    if (status == TN_OK)
        status = tn_accuracy_measure(state, &run, "search", UINT64_MAX, losses, &loss);
    if (status == TN_OK && state->trial_count < TN_ACCURACY_TRIALS)
        state->trials[state->trial_count++] = (tn_accuracy_trial){count, loss};
    *out_holds = status == TN_OK && loss <= state->options->max_loss;
    if (*out_holds) {
        tn_batch_run_deinit(&state->best);
        state->best = run;
        state->kept_count = count;
        memcpy(state->losses, losses, state->output_count * sizeof(*losses));
    } else {
        tn_batch_run_deinit(&run);
    }
    return status;
}

/* `low` units are too few; all of them are taken for enough until that is tried. */
static tn_status halve(tn_accuracy_state *state, kept_names *names, tn_output_loss *losses) {
    uint32_t low = 0, high = state->unit_count;
    bool holds = false, is_found = false;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        TN_TRY(try_count(state, middle, names, losses, &holds));
        is_found |= holds;
        if (holds)
            high = middle;
        else
            low = middle;
    }
    if (!is_found && high > 0) TN_TRY(try_count(state, high, names, losses, &is_found));
    if (is_found) return TN_OK;
    return tn_fail(TN_ERROR_RANGE,
                   "the loss of accuracy is above the bound (%g) though every node is back in "
                   "32-bit floats; with other kernels alone it is %g",
                   state->options->max_loss, state->trials[state->trial_count - 1].loss);
}

tn_status tn_accuracy_search(tn_accuracy_state *state) {
    kept_names names;
    tn_output_loss *losses =
        tn_arena_allocate(state->arena, state->output_count + (size_t)1, sizeof(*losses));
    if (!losses) return tn_fail_memory("a search");
    TN_TRY(find_units(state));
    TN_TRY(make_names(state, &names));
    TN_TRY(probe_all(state, &names, losses));
    qsort(state->units, state->unit_count, sizeof(*state->units), compare_losses);
    return halve(state, &names, losses);
}

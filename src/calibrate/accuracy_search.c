/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision under a bound: each step that has the lower precision is measured alone, all
 * others in 32-bit floats, on some of the batches; then those that lose most go back, and how many
 * must is found by halving, since the loss falls (all but exactly) with each that goes back. A
 * build in which all of them are back may choose the lower precision for others, which were in
 * floats before: those are measured and go back after the first ones.
 */
#include "base/status.h"
#include "calibrate/accuracy_private.h"
#include "engine/engine_private.h"

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

static bool is_in_unit(const tn_lowered_unit *unit, const char *name) {
    for (uint32_t i = 0; i < unit->node_count; i++)
        if (strcmp(unit->nodes[i], name) == 0) return true;
    return false;
}

static bool is_in_units(const tn_accuracy_state *state, const char *name) {
    for (uint32_t i = 0; i < state->unit_count; i++)
        if (is_in_unit(&state->units[i], name)) return true;
    return false;
}

static bool is_in_graph(const tn_graph *graph, const char *name) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0) return true;
    return false;
}

static bool has_lowered_step(const tn_accuracy_state *state, const tn_program *program) {
    for (uint32_t s = 0; s < program->step_count; s++)
        if (is_lowered_step(state, program, &program->steps[s])) return true;
    return false;
}

/* The nodes of a step that no unit has and that a build can be told to keep. */
static tn_status add_unit(tn_accuracy_state *state, const tn_engine *engine,
                          const tn_program_step *step) {
    tn_lowered_unit *unit = &state->units[state->unit_count];
    unit->node_count = 0;
    unit->nodes =
        tn_arena_allocate(state->arena, step->absorbed_count + (size_t)1, sizeof(*unit->nodes));
    if (!unit->nodes) return tn_fail_memory("a search");
    for (uint32_t i = 0; i <= step->absorbed_count; i++) {
        const uint32_t node = i == 0 ? step->node : step->absorbed[i - 1];
        const char *name = engine->graph->nodes[node].name;
        if (is_in_units(state, name) || !is_in_graph(state->graph, name)) continue;
        unit->nodes[unit->node_count] = tn_arena_text(state->arena, name);
        if (!unit->nodes[unit->node_count++]) return tn_fail_memory("a search");
    }
    if (unit->node_count > 0) state->unit_count++;
    return TN_OK;
}

/* What has the lower precision in a build and is not known yet. */
static tn_status add_units(tn_accuracy_state *state, const tn_engine *engine) {
    const tn_program *program = engine->program;
    for (uint32_t s = 0; s < program->step_count; s++)
        if (is_lowered_step(state, program, &program->steps[s]))
            TN_TRY(add_unit(state, engine, &program->steps[s]));
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
    const size_t capacity = state->build.keep_count + 2 * state->graph->node_count;
    out_names->names = tn_arena_allocate(state->arena, capacity + 1, sizeof(*out_names->names));
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
    return tn_batch_run_init(out_run, state->graph, &build, state->cache);
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
    *out_is_lower = status == TN_OK && has_lowered_step(state, run.engine->program);
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

/* Measures the units from `first` on, each alone. */
static tn_status probe_units(tn_accuracy_state *state, uint32_t first, kept_names *names,
                             tn_output_loss *losses) {
    double whole = 0;
    bool is_lower = false;
    keep_given(state, names);
    TN_TRY(probe(state, names, losses, &whole, &is_lower));
    for (uint32_t i = first; i < state->unit_count; i++)
        TN_TRY(tn_error_at(probe_unit(state, whole, &state->units[i], names, losses),
                           "measuring node '%s' alone", state->units[i].nodes[0]));
    return TN_OK;
}

static int compare_losses(const void *a, const void *b) {
    const double x = ((const tn_lowered_unit *)a)->loss, y = ((const tn_lowered_unit *)b)->loss;
    return (x < y) - (x > y);
}

static void take_best(tn_accuracy_state *state, const tn_batch_run *run, uint32_t count,
                      const tn_output_loss *losses) {
    tn_batch_run_deinit(&state->best);
    state->best = *run;
    state->kept_count = count;
    memcpy(state->losses, losses, state->output_count * sizeof(*losses));
}

/* Builds with the first `count` units kept; becomes the best when the bound holds. When it does not
 * with all of them, what else has the lower precision now becomes units. */
static tn_status try_count(tn_accuracy_state *state, uint32_t count, kept_names *names,
                           tn_output_loss *losses, bool *out_holds) {
    tn_batch_run run = {0};
    tn_status status;
    double loss = 0;
    *out_holds = false;
    keep_given(state, names);
    for (uint32_t i = 0; i < count; i++)
        keep_unit(&state->units[i], names);
    TN_GO(build_keeping(state, names, 0, &run));
    TN_GO(tn_accuracy_measure(state, &run, "search", UINT64_MAX, losses, &loss));
    if (state->trial_count == TN_ACCURACY_TRIALS) state->trial_count--;
    state->trials[state->trial_count++] = (tn_accuracy_trial){count, loss};
    *out_holds = loss <= state->options->max_loss;
    if (*out_holds)
        take_best(state, &run, count, losses);
    else if (count == state->unit_count)
        status = add_units(state, run.engine);
done:
    if (!*out_holds) tn_batch_run_deinit(&run);
    return status;
}

/* `low` units are too few; `high` of them are taken for enough until that is tried. */
static tn_status halve(tn_accuracy_state *state, uint32_t low, uint32_t high, kept_names *names,
                       tn_output_loss *losses, bool *out_is_found) {
    bool holds = false;
    *out_is_found = false;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        TN_TRY(try_count(state, middle, names, losses, &holds));
        *out_is_found |= holds;
        if (holds)
            high = middle;
        else
            low = middle;
    }
    return *out_is_found ? TN_OK : try_count(state, high, names, losses, out_is_found);
}

static tn_status fail_bound(const tn_accuracy_state *state) {
    return tn_fail(TN_ERROR_RANGE,
                   "the loss of accuracy is above the bound (%g) though every node is back in "
                   "32-bit floats; with other kernels alone it is %g",
                   state->options->max_loss, state->trials[state->trial_count - 1].loss);
}

/* Each round but the first has what the round before it found when all that it knew was kept. */
static tn_status search(tn_accuracy_state *state, kept_names *names, tn_output_loss *losses) {
    bool is_found = false;
    for (uint32_t low = 0; low < state->unit_count;) {
        const uint32_t high = state->unit_count;
        TN_TRY(probe_units(state, low, names, losses));
        qsort(state->units + low, high - low, sizeof(*state->units), compare_losses);
        TN_TRY(halve(state, low, high, names, losses, &is_found));
        if (is_found) return TN_OK;
        low = high;
    }
    return fail_bound(state);
}

tn_status tn_accuracy_search(tn_accuracy_state *state) {
    kept_names names;
    tn_output_loss *losses =
        tn_arena_allocate(state->arena, state->output_count + (size_t)1, sizeof(*losses));
    state->units = tn_arena_allocate(state->arena, state->graph->node_count + (size_t)1,
                                     sizeof(*state->units));
    if (!losses || !state->units) return tn_fail_memory("a search");
    TN_TRY(add_units(state, state->best.engine));
    TN_TRY(make_names(state, &names));
    return search(state, &names, losses);
}

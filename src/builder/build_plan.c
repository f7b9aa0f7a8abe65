/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a build: the memory of runs, the plan (src/plan) and the report beside it. */
#include "base/status.h"
#include "builder/build_state.h"
#include "builder/builder.h"
#include "graph/body.h"
#include "builder/report/report.h"
#include "builder/timing/timing_policy.h"
#include "plan/plan.h"

#include <tenon/plugin/sequence.h>

/* What a further shape leaves of what is known of an output. */
static void narrow_output(tn_plan_output *output, const tn_shape *other) {
    output->has_shape = output->has_shape && other->rank == output->shape.rank;
    for (uint32_t i = 0; output->has_shape && i < other->rank; i++)
        if (other->extents[i] != output->shape.extents[i]) output->shape.extents[i] = -1;
}

/* What all points of all profiles agree on; nothing of what only a run decides. */
static tn_plan_output describe_output(const build_state *state, tn_tensor_id id) {
    tn_plan_output output = {.type = TN_NONE};
    if (id >= state->given->tensor_count) return output; /* of a pass's own making */
    if (state->passes.is_unsure[id]) return output;
    const tn_inferred_tensor *best = &state->profiles[0].shapes.points[1]->tensors[id];
    if (best->is_described) {
        const tn_tensor *items = &best->storage.tensor;
        return (tn_plan_output){
            .type = items->type, .kind = items->kind, .key_type = tn_map_key_type(items)};
    }
    for (uint32_t p = 0; p < state->sets.count; p++)
        for (int point = 0; point < TN_POINTS; point++)
            if (!state->profiles[p].shapes.points[point]->tensors[id].is_known) return output;
    const tn_tensor_storage *first = &state->profiles[0].shapes.points[1]->tensors[id].storage;
    output.type = first->tensor.type;
    output.shape = first->shape;
    output.has_shape = true;
    for (uint32_t p = 0; p < state->sets.count; p++)
        for (int point = 0; point < TN_POINTS; point++)
            narrow_output(&output,
                          &state->profiles[p].shapes.points[point]->tensors[id].storage.shape);
    return output;
}

static void describe_report(const build_state *state, uint32_t index, tn_report_source *source) {
    const built_profile *profile = &state->profiles[index];
    *source = (tn_report_source){.graph = state->graph,
                                 .profiles = profile->ranges,
                                 .shapes = &profile->shapes,
                                 .program = &profile->program,
                                 .device = state->device.device,
                                 .notes = &profile->notes,
                                 .node_pins = state->node_pins,
                                 .passes = &state->passes,
                                 .given_node_count = state->given->node_count,
                                 .memory = &profile->memory};
}

static tn_status make_report(const build_state *state, char **out_report) {
    const uint32_t count = state->sets.count;
    tn_report_source *sources = tn_arena_allocate(state->arena, count, sizeof *sources);
    if (!sources) return tn_fail_memory("a build's report");
    for (uint32_t p = 0; p < count; p++)
        describe_report(state, p, &sources[p]);
    return tn_report_make(sources, count, out_report);
}

/* Of `count` profiles from `first` on. */
static tn_status write_parts(const build_state *state, uint32_t first, uint32_t count,
                             tn_plan **out_plan) {
    const tn_graph *graph = state->graph;
    tn_plan_output *outputs =
        tn_arena_allocate(state->arena, graph->output_count + 1, sizeof *outputs);
    const tn_program **programs = tn_arena_allocate(state->arena, count, sizeof *programs);
    if (!outputs || !programs) return tn_fail_memory("a plan");
    for (size_t i = 0; i < graph->output_count; i++)
        outputs[i] = describe_output(state, graph->outputs[i]);
    for (uint32_t p = 0; p < count; p++)
        programs[p] = &state->profiles[first + p].program;
    const tn_plan_parts parts = {.graph = graph,
                                 .profile_count = count,
                                 .profiles = tn_profile_sets_at(&state->sets, first),
                                 .outputs = outputs,
                                 .program_count = count,
                                 .programs = programs,
                                 .is_lent = true};
    return tn_plan_write_parts(&parts, out_plan);
}

static tn_status write_plan(build_state *state) {
    char *report = NULL;
    if (state->has_report) TN_TRY(make_report(state, &report));
    tn_status status = write_parts(state, 0, state->sets.count, &state->plan);
    if (status != TN_OK) {
        tn_deallocate(state->graph->allocator, report);
        return status;
    }
    tn_deallocate(state->plan->allocator, state->plan->report);
    state->plan->report = report;
    return TN_OK;
}

static tn_status plan_memory(build_state *state, built_profile *profile) {
    profile->steps = (tn_report_steps){
        .graph = state->graph, .shapes = profile->shapes.points[1], .program = &profile->program};
    TN_TRY(tn_report_memory_plan(&profile->steps, &profile->memory));
    return tn_report_memory_note(&profile->memory, &profile->program, state->arena);
}

tn_status tn_build_plan(build_state *state) {
    for (uint32_t p = 0; p < state->sets.count; p++)
        TN_TRY(plan_memory(state, &state->profiles[p]));
    return write_plan(state);
}

bool tn_build_can_run(const build_state *state) {
    const tn_graph *graph = state->graph;
    if (!state->runner || state->options->flags & TN_BUILD_CHECKED) return false;
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead && tn_graph_node_has_bodies(&graph->nodes[n])) return false;
    /* Kernels pack them once more. */
    return tn_graph_constant_bytes(graph) <= tn_timing_policy.open_bytes;
}

/* Its plan lends from the build, which outlives the network. */
static tn_status open_program(void *user, const tn_program *program, void **out_network) {
    build_state *state = user;
    tn_plan *plan;
    state->profiles[state->lowered].program = *program;
    TN_TRY(write_parts(state, state->lowered, 1, &plan));
    const tn_status status =
        state->runner->open(state->graph->runtime, plan, state->device.device, out_network);
    tn_plan_destroy(plan);
    return status;
}

tn_lower_runner tn_build_runner(build_state *state) {
    return (tn_lower_runner){.open = open_program,
                             .user = state,
                             .close = state->runner->close,
                             .race = state->runner->race};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of a run that a device executes as one captured graph: steps in a row that are its own,
 * with kernels that may run while their stream is captured. All their pointers lie in the context's
 * arena and among the engine's constants, so that what was captured holds until the arena moves;
 * small copies from and to memory that the context lends to the caller are captured, too.
 * The first run of a state is one by one (execution_first.c): libraries then make what they make
 * lazily. The second one captures.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/execution_private.h"

#include <stdlib.h>

#define ITEMS_AT_LEAST 2

static bool is_captured_border(const tn_shape_state *state, uint32_t item) {
    for (uint32_t b = 0; b < state->border_count; b++)
        if (state->borders[b].item == item) return state->borders[b].captured != NULL;
    return false;
}

static bool is_capturable(const tn_context *context, const tn_shape_state *state, uint32_t item) {
    const uint32_t index = state->item_steps[item];
    const tn_program_step *step = &context->engine->program->steps[index];
    const tn_program_value *values = context->engine->program->values;
    if (step->kind == TN_STEP_REFORMAT)
        return (values[step->inputs[0]].space == TN_SPACE_DEVICE &&
                values[step->outputs[0]].space == TN_SPACE_DEVICE) ||
               is_captured_border(state, item);
    return step->is_device &&
           (context->engine->steps[index].entry->kernel->traits & TN_KERNEL_CAPTURABLE);
}

tn_status tn_execution_find_graphs(tn_context *context, tn_shape_state *state) {
    if (!context->device.stream || !tn_device_captures(context->engine->device)) return TN_OK;
    if (!state->graphs)
        state->graphs = tn_arena_allocate(state->arena, state->item_count / ITEMS_AT_LEAST + 1u,
                                          sizeof(*state->graphs));
    if (!state->graphs) return tn_fail_memory("a set of shapes");
    state->graph_count = 0;
    for (uint32_t i = 0; i < state->item_count;) {
        uint32_t end = i;
        while (end < state->item_count && is_capturable(context, state, end))
            end++;
        if (end - i >= ITEMS_AT_LEAST)
            state->graphs[state->graph_count++] = (tn_execution_graph){.first = i, .end = end};
        i = end > i ? end : i + 1;
    }
    return TN_OK;
}

static void drop(const tn_device *device, void **graph) {
    if (*graph) device->graph_destroy(device, *graph);
    *graph = NULL;
}

void tn_execution_drop_graphs(const tn_context *context, tn_shape_state *state) {
    for (uint32_t g = 0; g < state->graph_count; g++) {
        drop(context->engine->device, &state->graphs[g].graph);
        drop(context->engine->device, &state->graphs[g].timed);
    }
    state->device_runs = 0;
}

static tn_status run_items(tn_context *context, const tn_shape_state *state, uint32_t first,
                           uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        const tn_execution_item *item = &state->items[i];
        if (tn_run_is_cancelled(context->run)) return tn_run_fail_cancelled();
        context->device.is_pending =
            context->device.is_pending || tn_shape_state_is_on_device(context, state, i);
        const tn_status status = tn_execution_call(context, item);
        if (__builtin_expect(status != TN_OK, 0)) return tn_execution_failed(item, status);
    }
    return TN_OK;
}

static void set_stream(const tn_shape_state *state, const tn_execution_graph *graph, void *stream) {
    for (uint32_t i = graph->first; i < graph->end; i++)
        state->items[i].call->stream = stream;
}

/* Item by item where the device is to know which kernels may run beside each other. */
static tn_status run_piece(tn_context *context, const tn_shape_state *state,
                           const tn_execution_graph *graph) {
    const tn_device *device = context->engine->device;
    const tn_device_branches *branches = tn_execution_branches(device);
    if (!branches) return run_items(context, state, graph->first, graph->end);
    void **captured = calloc(graph->end - graph->first, sizeof(*captured));
    tn_status status = captured ? TN_OK : tn_fail_memory("a graph");
    for (uint32_t i = graph->first; i < graph->end && status == TN_OK; i++) {
        status = run_items(context, state, i, i + 1);
        captured[i - graph->first] = branches->last(device, context->device.own_stream);
    }
    if (status == TN_OK) status = tn_execution_put_branches(context, state, graph, captured);
    free(captured);
    return status;
}

/* On the context's own stream, whichever the graph is launched on. */
static tn_status capture_items(tn_context *context, tn_shape_state *state,
                               const tn_execution_graph *graph, bool is_timed,
                               void **out_captured) {
    const tn_device *device = context->engine->device;
    TN_TRY(device->capture_begin(device, context->device.own_stream));
    set_stream(state, graph, context->device.own_stream);
    if (!is_timed) tn_execution_begin_direct(context, state, graph);
    const tn_status status =
        is_timed ? tn_execution_profile_capture(context, graph, context->device.own_stream)
                 : run_piece(context, state, graph);
    const tn_status ended = device->capture_end(device, context->device.own_stream, out_captured);
    tn_execution_end_direct(state);
    set_stream(state, graph, context->device.stream);
    return status == TN_OK ? ended : status;
}

/* A piece that the device does not capture after all is run as it is from then on. */
static tn_status capture(tn_context *context, tn_shape_state *state,
                         const tn_execution_graph *graph, bool is_timed, void **out_graph) {
    const tn_device *device = context->engine->device;
    void *captured = NULL;
    const tn_status status = capture_items(context, state, graph, is_timed, &captured);
    if (status == TN_OK) {
        *out_graph = captured;
        return TN_OK;
    }
    if (captured) device->graph_destroy(device, captured);
    if (status == TN_ERROR_MEMORY || status == TN_ERROR_CANCELLED) return status;
    const char *reason = device->last_error(device);
    tn_runtime_log(context->engine->runtime, TN_LOG_INFO,
                   "%u steps are launched one by one: the device does not capture them: %s",
                   graph->end - graph->first, reason ? reason : "");
    return TN_OK;
}

static tn_status capture_all(tn_context *context, tn_shape_state *state) {
    tn_error_copy before;
    tn_error_save(&before);
    for (uint32_t g = 0; g < state->graph_count; g++)
        if (!state->graphs[g].graph)
            TN_TRY(capture(context, state, &state->graphs[g], false, &state->graphs[g].graph));
    tn_error_restore(&before);
    return TN_OK;
}

tn_status tn_execution_capture_timed(tn_context *context, tn_shape_state *state) {
    tn_error_copy before;
    tn_error_save(&before);
    for (uint32_t g = 0; g < state->graph_count; g++)
        if (!state->graphs[g].timed)
            TN_TRY(capture(context, state, &state->graphs[g], true, &state->graphs[g].timed));
    tn_error_restore(&before);
    return TN_OK;
}

tn_status tn_execution_launch(tn_context *context, void *graph) {
    const tn_device *device = context->engine->device;
    tn_crash_set_call(&context->crash, NULL); /* many nodes at once: none of them alone */
    const tn_status status = device->graph_launch(device, graph, context->device.stream);
    if (status != TN_OK) return tn_device_failed(device, status, "launching a graph");
    context->device.is_pending = true; /* also where an earlier piece was waited for */
    context->statistics.graph_launches++;
    return TN_OK;
}

tn_status tn_execution_run_device(tn_context *context) {
    tn_shape_state *state = context->shapes.current;
    uint32_t at = 0;
    if (state->device_runs == 0) {
        TN_TRY(tn_execution_run_first(context, state));
        state->device_runs = 1;
        return TN_OK;
    }
    if (state->device_runs == 1) TN_TRY(capture_all(context, state));
    state->device_runs = 2;
    for (uint32_t g = 0; g < state->graph_count; g++) {
        const tn_execution_graph *graph = &state->graphs[g];
        if (!graph->graph) continue;
        TN_TRY(run_items(context, state, at, graph->first));
        TN_TRY(tn_run_check(context->run));
        TN_TRY(tn_execution_launch(context, graph->graph));
        at = graph->end;
    }
    return run_items(context, state, at, state->item_count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution loop with a clock. On the processor that is the host's; on a device each step lies
 * between two events, and the host waits once, at the end: pieces that a plain run launches as one
 * graph are captured once more with the events in them, so that the steps' times add up to the
 * run's.
 */
#include "base/status.h"
#include "base/clock.h"
#include "run/execution_private.h"
#include "run/profile_steps.h"

void tn_execution_note_time(tn_context *context, uint32_t index, uint64_t ns) {
    tn_profile_entry *entry = &context->profile.entries[index];
    const tn_program_step *step = &context->engine->program->steps[index];
    if (entry->runs == 0) {
        const tn_engine *engine = context->engine;
        const bool is_node = step->node != TN_NO_NODE;
        const tn_graph_node *node = is_node ? &engine->graph->nodes[step->node] : NULL;
        const tn_tensor_id read = is_node ? 0 : engine->program->values[step->inputs[0]].tensor;
        *entry = (tn_profile_entry){
            .size = sizeof(*entry),
            .node = is_node ? node->name : engine->graph->tensors[read].name,
            .op = is_node ? node->entry->op->name : "reformat",
            .kernel = is_node ? (step->kernel ? step->kernel : "reference") : "convert",
            .minimum_ns = ns};
        context->profile.steps[context->profile.count++] = index;
    }
    entry->runs++;
    entry->total_ns += ns;
    if (ns < entry->minimum_ns) entry->minimum_ns = ns;
}

void tn_execution_note_reference(tn_context *context, uint32_t index) {
    context->profile.entries[index].kernel = "reference";
}

uint32_t tn_context_profile_step(const tn_context *context, uint32_t index) {
    return context->profile.steps[index];
}

static tn_status profile_host(tn_context *context) {
    const tn_shape_state *state = context->shapes.current;
    for (uint32_t i = 0; i < state->item_count; i++) {
        TN_TRY(tn_run_check(context->run));
        const uint64_t before = tn_now_ns();
        const tn_status status = state->items[i].run(state->items[i].call);
        if (status != TN_OK) return tn_execution_failed(&state->items[i], status);
        tn_execution_note_time(context, state->item_steps[i], tn_now_ns() - before);
        if (state->items[i].call && state->items[i].call->flags & TN_CALL_REFERENCE)
            tn_execution_note_reference(context, state->item_steps[i]);
    }
    return TN_OK;
}

/* Events, with room for the times of the processor's steps; they stay for the next run. */
static tn_status reserve_events(tn_context *context, uint32_t count) {
    const tn_device *device = context->engine->device;
    if (count > context->profile.event_capacity) {
        uint64_t *times = tn_allocate_zero(&context->allocator, count, sizeof(*times));
        if (!times) return tn_fail_memory("a profile");
        tn_deallocate(&context->allocator, context->profile.host_ns);
        context->profile.host_ns = times;
        void **events =
            tn_allocate_zero(&context->allocator, count, sizeof(*context->profile.events));
        if (!events) return tn_fail_memory("a profile");
        for (uint32_t i = 0; i < context->profile.event_count; i++)
            events[i] = context->profile.events[i];
        tn_deallocate(&context->allocator, (void *)context->profile.events);
        context->profile.events = events;
        context->profile.event_capacity = count;
    }
    while (context->profile.event_count < count) {
        const tn_status status =
            device->event_create(device, &context->profile.events[context->profile.event_count]);
        if (status != TN_OK) return tn_device_failed(device, status, "an event");
        context->profile.event_count++;
    }
    return TN_OK;
}

void tn_execution_profile_close(tn_context *context) {
    const tn_device *device = context->engine->device;
    for (uint32_t i = 0; i < context->profile.event_count; i++)
        device->event_destroy(device, context->profile.events[i]);
    tn_deallocate(&context->allocator, (void *)context->profile.events);
    tn_deallocate(&context->allocator, context->profile.host_ns);
    context->profile.events = NULL;
    context->profile.host_ns = NULL;
    context->profile.event_count = context->profile.event_capacity = 0;
}

static tn_status record(const tn_context *context, uint32_t event, void *stream) {
    const tn_device *device = context->engine->device;
    const tn_status status = device->event_record(device, context->profile.events[event], stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "an event");
}

/* Pieces of the run: what lies before each graph, the graph, and what lies behind the last one.
 * Two events end a piece: what lies between those is what an event costs, and no step's time. */
static uint32_t end_events(const tn_shape_state *state, uint32_t piece) {
    return state->item_count + 2 * piece;
}

static uint32_t event_count(const tn_shape_state *state) {
    return end_events(state, 2 * state->graph_count) + 2;
}

typedef tn_status (*visit_piece)(tn_context *context, uint32_t piece, uint32_t first, uint32_t end);

static tn_status run_piece(tn_context *context, uint32_t piece, uint32_t first, uint32_t end,
                           void *stream) {
    const tn_shape_state *state = context->shapes.current;
    for (uint32_t i = first; i < end; i++) {
        const tn_execution_item *item = &state->items[i];
        TN_TRY(tn_run_check(context->run));
        TN_TRY(record(context, i, stream));
        const uint64_t before = tn_now_ns();
        const tn_status status = tn_execution_call(context, item);
        if (status != TN_OK) return tn_execution_failed(item, status);
        context->profile.host_ns[i] = tn_now_ns() - before;
    }
    TN_TRY(record(context, end_events(state, piece), stream));
    return record(context, end_events(state, piece) + 1, stream);
}

tn_status tn_execution_profile_capture(tn_context *context, const tn_execution_graph *graph,
                                       void *stream) {
    const uint32_t number = (uint32_t)(graph - context->shapes.current->graphs);
    return run_piece(context, 2 * number + 1, graph->first, graph->end, stream);
}

static tn_status launch_piece(tn_context *context, uint32_t piece, uint32_t first, uint32_t end) {
    const tn_shape_state *state = context->shapes.current;
    if (piece % 2 == 1) return tn_execution_launch(context, state->graphs[piece / 2].timed);
    return run_piece(context, piece, first, end, context->device.stream);
}

static tn_status elapsed(const tn_context *context, uint32_t from, uint32_t to, double *out_ns) {
    const tn_device *device = context->engine->device;
    const tn_status status = device->event_elapsed(device, context->profile.events[from],
                                                   context->profile.events[to], out_ns);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a profile");
}

static tn_status note_piece(tn_context *context, uint32_t piece, uint32_t first, uint32_t end) {
    const tn_shape_state *state = context->shapes.current;
    const uint32_t last = end_events(state, piece);
    double event_ns = 0;
    TN_TRY(elapsed(context, last, last + 1, &event_ns));
    /* The least of all runs: one that was disturbed here would make its steps too short. */
    if (context->profile.event_ns <= 0 || event_ns < context->profile.event_ns)
        context->profile.event_ns = event_ns;
    event_ns = context->profile.event_ns;
    for (uint32_t i = first; i < end; i++) {
        double ns = (double)context->profile.host_ns[i];
        if (tn_shape_state_is_on_device(context, state, i)) {
            TN_TRY(elapsed(context, i, i + 1 == end ? last : i + 1, &ns));
            ns = ns > event_ns ? ns - event_ns : 0;
        }
        tn_execution_note_time(context, state->item_steps[i], (uint64_t)ns);
    }
    return TN_OK;
}

static tn_status visit_pieces(tn_context *context, visit_piece visit) {
    const tn_shape_state *state = context->shapes.current;
    uint32_t at = 0;
    for (uint32_t g = 0; g < state->graph_count; g++) {
        const tn_execution_graph *graph = &state->graphs[g];
        if (!graph->timed) continue;
        if (at < graph->first) TN_TRY(visit(context, 2 * g, at, graph->first));
        TN_TRY(visit(context, 2 * g + 1, graph->first, graph->end));
        at = graph->end;
    }
    return at < state->item_count ? visit(context, 2 * state->graph_count, at, state->item_count)
                                  : TN_OK;
}

/* The first run of a state is one by one: what libraries make lazily cannot be captured. */
static tn_status profile_device(tn_context *context) {
    tn_shape_state *state = context->shapes.current;
    TN_TRY(reserve_events(context, event_count(state)));
    if (state->device_runs > 0) TN_TRY(tn_execution_capture_timed(context, state));
    TN_TRY(visit_pieces(context, launch_piece));
    if (state->device_runs == 0) state->device_runs = 1;
    context->device.is_pending = true;
    TN_TRY(tn_execution_wait(context));
    return visit_pieces(context, note_piece);
}

tn_status tn_execution_profile(tn_context *context) {
    return context->device.stream ? profile_device(context) : profile_host(context);
}

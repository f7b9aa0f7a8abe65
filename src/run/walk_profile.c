/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk with a clock. On the processor that is the host's; on a device each step lies between
 * two events, and the host waits once, at the end: pieces that a plain run launches as one graph
 * are captured once more with the events in them, so that the steps' times add up to the run's.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <time.h>

uint64_t tn_walk_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void tn_walk_note_time(tn_context *context, uint32_t index, uint64_t ns) {
    tn_profile_entry *entry = &context->profile[index];
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
        context->profile_steps[context->profile_count++] = index;
    }
    entry->runs++;
    entry->total_ns += ns;
    if (ns < entry->minimum_ns) entry->minimum_ns = ns;
}

static tn_status profile_host(tn_context *context) {
    const tn_shape_state *state = context->current;
    for (uint32_t i = 0; i < state->walk_count; i++) {
        const uint64_t before = tn_walk_now_ns();
        const tn_status status = state->walk[i].run(state->walk[i].call);
        if (status != TN_OK) return tn_walk_failed(&state->walk[i], status);
        tn_walk_note_time(context, state->walk_steps[i], tn_walk_now_ns() - before);
    }
    return TN_OK;
}

/* One event before each step, and one at the end, with room for the times of the processor's steps;
 * they stay for the next run. */
static tn_status reserve_events(tn_context *context, uint32_t count) {
    const tn_device *device = context->engine->device;
    if (count > context->event_capacity) {
        uint64_t *times = tn_allocate_zero(&context->allocator, count, sizeof(*times));
        if (!times) return tn_fail_memory("a profile");
        tn_deallocate(&context->allocator, context->host_ns);
        context->host_ns = times;
        void **events = tn_allocate_zero(&context->allocator, count, sizeof(*context->events));
        if (!events) return tn_fail_memory("a profile");
        for (uint32_t i = 0; i < context->event_count; i++)
            events[i] = context->events[i];
        tn_deallocate(&context->allocator, (void *)context->events);
        context->events = events;
        context->event_capacity = count;
    }
    while (context->event_count < count) {
        const tn_status status =
            device->event_create(device, &context->events[context->event_count]);
        if (status != TN_OK) return tn_device_failed(device, status, "an event");
        context->event_count++;
    }
    return TN_OK;
}

void tn_walk_profile_close(tn_context *context) {
    const tn_device *device = context->engine->device;
    for (uint32_t i = 0; i < context->event_count; i++)
        device->event_destroy(device, context->events[i]);
    tn_deallocate(&context->allocator, (void *)context->events);
    tn_deallocate(&context->allocator, context->host_ns);
    context->events = NULL;
    context->host_ns = NULL;
    context->event_count = context->event_capacity = 0;
}

static tn_status record(const tn_context *context, uint32_t event, void *stream) {
    const tn_device *device = context->engine->device;
    const tn_status status = device->event_record(device, context->events[event], stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "an event");
}

/* Items in a row; the last one's end is recorded too. What the processor does is timed here. */
static tn_status run_items(tn_context *context, uint32_t first, uint32_t end, void *stream) {
    const tn_shape_state *state = context->current;
    for (uint32_t i = first; i < end; i++) {
        const tn_walk_item *item = &state->walk[i];
        const bool is_on_device = tn_shape_state_is_on_device(context, state, i);
        TN_TRY(record(context, i, stream));
        const uint64_t before = tn_walk_now_ns();
        const tn_status status = item->run(item->call);
        if (status != TN_OK) return tn_walk_failed(item, status);
        if (!is_on_device) context->host_ns[i] = tn_walk_now_ns() - before;
    }
    return record(context, end, stream);
}

tn_status tn_walk_profile_capture(tn_context *context, const tn_walk_graph *graph, void *stream) {
    return run_items(context, graph->first, graph->end, stream);
}

/* The first run of a state is one by one: what libraries make lazily cannot be captured. */
static tn_status run_all(tn_context *context) {
    tn_shape_state *state = context->current;
    uint32_t at = 0;
    if (state->device_runs > 0) TN_TRY(tn_walk_capture_timed(context, state));
    for (uint32_t g = 0; g < state->graph_count; g++) {
        const tn_walk_graph *graph = &state->graphs[g];
        if (!graph->timed) continue;
        TN_TRY(run_items(context, at, graph->first, context->stream));
        TN_TRY(tn_walk_launch(context, graph->timed));
        at = graph->end;
    }
    TN_TRY(run_items(context, at, state->walk_count, context->stream));
    if (state->device_runs == 0) state->device_runs = 1;
    return TN_OK;
}

static tn_status profile_device(tn_context *context) {
    const tn_shape_state *state = context->current;
    const tn_device *device = context->engine->device;
    TN_TRY(reserve_events(context, state->walk_count + 1));
    TN_TRY(run_all(context));
    context->is_pending = true;
    TN_TRY(tn_walk_wait(context));
    for (uint32_t i = 0; i < state->walk_count; i++) {
        double ns = (double)context->host_ns[i];
        tn_status status = TN_OK;
        if (tn_shape_state_is_on_device(context, state, i))
            status = device->event_elapsed(device, context->events[i], context->events[i + 1], &ns);
        if (status != TN_OK) return tn_device_failed(device, status, "a profile");
        tn_walk_note_time(context, state->walk_steps[i], ns > 0 ? (uint64_t)ns : 0);
    }
    return TN_OK;
}

tn_status tn_walk_profile(tn_context *context) {
    return context->stream ? profile_device(context) : profile_host(context);
}

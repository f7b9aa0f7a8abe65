/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a shape state: one arena in the host's memory, and one in the device's, for the
 * values that lie in it and for the workspaces, by the steps of the run between which each is
 * needed. Which values these are is shape_state_locations.c's matter, the offsets are found by
 * src/memory/memory_plan.c.
 */
#include "base/status.h"
#include "memory/memory_plan.h"
#include "run/context_private.h"

bool tn_shape_state_is_on_device(const tn_context *context, const tn_shape_state *state,
                                 uint32_t item) {
    const tn_program *program = context->engine->program;
    const tn_program_step *step = &program->steps[state->item_steps[item]];
    return step->is_device || tn_execution_is_transfer(program, step);
}

typedef struct lifetimes {
    uint32_t kind; /* of the locations */
    tn_memory_buffer *buffers;
    uint32_t *buffer_of; /* by value: index + 1 */
    size_t count;
} lifetimes;

static void use_value(lifetimes *all, const tn_shape_state *state, uint32_t value, uint32_t at) {
    if (value == TN_NO_VALUE) return;
    size_t shift;
    const uint32_t root = tn_shape_state_root(state, value, &shift);
    if (state->locations[root].kind != all->kind) return;
    if (!all->buffer_of[root]) {
        const size_t bytes = (size_t)state->tensors[root].tensor.bytes;
        all->buffers[all->count++] =
            (tn_memory_buffer){.bytes = bytes ? bytes : 64, .first = at, .last = at};
        all->buffer_of[root] = (uint32_t)all->count;
    }
    tn_memory_buffer *buffer = &all->buffers[all->buffer_of[root] - 1];
    if (buffer->last < at) buffer->last = at;
}

static void gather_lifetimes(const tn_context *context, tn_shape_state *state, lifetimes *all) {
    const tn_program *program = context->engine->program;
    for (uint32_t i = 0; i < state->item_count; i++) {
        const tn_program_step *step = &program->steps[state->item_steps[i]];
        for (uint32_t k = 0; k < step->input_count; k++)
            use_value(all, state, step->inputs[k], i);
        for (uint32_t k = 0; k < step->operand_count; k++)
            use_value(all, state, step->operands[k], i);
        for (uint32_t k = 0; k < step->output_count; k++)
            use_value(all, state, step->outputs[k], i);
    }
    for (uint32_t i = 0; i < state->copy_count; i++)
        use_value(all, state, state->copies[i].value, state->item_count);
}

/* Whether the workspace of an item lies in the arena of this kind of location. */
static bool has_workspace(const tn_context *context, const tn_shape_state *state, uint32_t item,
                          uint32_t kind) {
    return state->workspace_bytes[item] &&
           (tn_shape_state_is_on_device(context, state, item) ? TN_LOCATION_DEVICE
                                                              : TN_LOCATION_ARENA) == kind;
}

/* What a report says of an arena. */
static tn_status note_arena(tn_shape_state *state, const lifetimes *all, uint32_t values,
                            size_t bytes) {
    uint32_t *owners = tn_arena_allocate(state->arena, all->count + 1, sizeof(*owners));
    if (!owners) return tn_fail_memory("a memory plan");
    for (size_t i = 0; i < all->count; i++)
        owners[i] = TN_NO_VALUE; /* a workspace */
    for (uint32_t v = 0; v < values; v++)
        if (all->buffer_of[v]) owners[all->buffer_of[v] - 1] = v;
    state->arenas[all->kind == TN_LOCATION_DEVICE] = (tn_report_arena){
        .bytes = bytes, .count = all->count, .buffers = all->buffers, .values = owners};
    return TN_OK;
}

static tn_status plan_memory(tn_context *context, tn_shape_state *state, uint32_t kind,
                             size_t alignment, size_t *out_bytes) {
    const uint32_t values = context->engine->program->value_count;
    lifetimes all = {.kind = kind};
    all.buffers = tn_arena_allocate(state->arena, (size_t)values + state->item_count + 1,
                                    sizeof(*all.buffers));
    all.buffer_of = tn_arena_allocate(state->arena, (size_t)values + 1, sizeof(*all.buffer_of));
    if (!all.buffers || !all.buffer_of) return tn_fail_memory("a memory plan");
    gather_lifetimes(context, state, &all);
    const size_t value_buffers = all.count;
    for (uint32_t i = 0; i < state->item_count; i++) {
        if (has_workspace(context, state, i, kind))
            all.buffers[all.count++] = (tn_memory_buffer){
                .bytes = (size_t)state->workspace_bytes[i], .first = i, .last = i};
    }
    TN_TRY(tn_memory_plan_make(&context->allocator, all.buffers, all.count, alignment, out_bytes));
    for (uint32_t v = 0; v < values; v++) {
        if (all.buffer_of[v]) state->locations[v].offset = all.buffers[all.buffer_of[v] - 1].offset;
    }
    size_t at = value_buffers;
    for (uint32_t i = 0; i < state->item_count; i++) {
        if (has_workspace(context, state, i, kind)) state->workspaces[i] = all.buffers[at++].offset;
    }
    return note_arena(state, &all, values, *out_bytes);
}

/* Every value gets its root's location, and those in the callers' memory are listed. In two steps:
 * the chains of roots are read until all are known. */
static void settle_locations(const tn_context *context, tn_shape_state *state) {
    const uint32_t count = context->engine->program->value_count;
    for (uint32_t v = 0; v < count; v++) {
        size_t shift;
        const uint32_t root = tn_shape_state_root(state, v, &shift);
        state->locations[v].root = root;
        state->locations[v].shift = shift;
    }
    for (uint32_t v = 0; v < count; v++) {
        tn_value_location *location = &state->locations[v];
        const uint32_t root = location->root;
        const size_t shift = location->shift;
        *location = state->locations[root];
        location->root = root;
        location->shift = shift;
        if (location->kind == TN_LOCATION_INPUT || location->kind == TN_LOCATION_OUTPUT)
            state->patches[state->patch_count++] = v;
    }
}

tn_status tn_shape_state_plan(tn_context *context, tn_shape_state *state) {
    TN_TRY(plan_memory(context, state, TN_LOCATION_ARENA, 64, &state->memory_bytes));
    if (context->device.stream)
        TN_TRY(plan_memory(context, state, TN_LOCATION_DEVICE,
                           (size_t)context->engine->device->alignment, &state->device_bytes));
    settle_locations(context, state);
    state->is_placed = true;
    return TN_OK;
}

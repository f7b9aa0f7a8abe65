/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each value of a shape state lies: constants and computed values where they are, network
 * inputs and outputs in the caller's memory, views and in-place outputs on their source, all else
 * and the workspaces in one arena by lifetimes.
 */
#include "base/status.h"
#include "build/memory_plan.h"
#include "run/context_private.h"

#include <string.h>

static uint32_t root_of(const tn_shape_state *state, uint32_t value) {
    while (state->places[value].root != value)
        value = state->places[value].root;
    return value;
}

/* ----------------------------------------------------------------------------------------------
 * sources */

static tn_status place_source(tn_context *context, tn_shape_state *state, uint32_t value) {
    const tn_engine *engine = context->engine;
    const tn_tensor_id id = engine->program->values[value].tensor;
    const tn_graph_tensor *tensor = &engine->graph->tensors[id];
    tn_value_place *place = &state->places[value];
    if (tensor->is_constant) {
        static const char nothing[64];
        place->kind = TN_PLACE_FIXED;
        place->pointer = (void *)(uintptr_t)(tensor->data ? tensor->data : nothing);
        state->tensors[value].tensor.data = place->pointer;
        return TN_OK;
    }
    for (uint32_t i = 0; tensor->is_input && i < engine->graph->input_count; i++) {
        if (engine->graph->inputs[i] == id) {
            place->kind = TN_PLACE_INPUT;
            place->index = i;
            return TN_OK;
        }
    }
    /* A host node's output: inference has computed it, and will compute others for other shapes. */
    const tn_tensor *computed = &context->inference.tensors[id].storage.tensor;
    if (!computed->data) return TN_OK; /* only shapes are read of it */
    char *copy = tn_arena_allocate(state->arena, (size_t)computed->bytes + 64, 1);
    if (!copy) return tn_fail_memory("a computed value");
    copy += 64 - ((uintptr_t)copy & 63);
    memcpy(copy, computed->data, (size_t)computed->bytes);
    place->kind = TN_PLACE_FIXED;
    place->pointer = copy;
    state->tensors[value].tensor.data = copy;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * sharing */

static void share_views(const tn_engine *engine, tn_shape_state *state,
                        const tn_program_step *step) {
    const tn_operator *op = engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t alias = tn_graph_output_port(op, i)->alias;
        if (step->outputs[i] != TN_NO_VALUE && alias && alias <= step->input_count &&
            step->inputs[alias - 1] != TN_NO_VALUE)
            state->places[step->outputs[i]].root = step->inputs[alias - 1];
    }
}

static void share_in_place(tn_shape_state *state, const tn_program_step *step) {
    if (!step->is_in_place || step->inputs[0] == TN_NO_VALUE || step->outputs[0] == TN_NO_VALUE)
        return;
    const uint32_t source = root_of(state, step->inputs[0]);
    const tn_tensor *from = &state->tensors[source].tensor,
                    *to = &state->tensors[step->outputs[0]].tensor;
    if (state->places[source].kind == TN_PLACE_ARENA && from->bytes == to->bytes)
        state->places[step->outputs[0]].root = source;
}

static tn_status place_values(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    bool *is_made = tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*is_made));
    if (!is_made) return tn_fail_memory("a set of shapes");
    for (uint32_t v = 0; v < program->value_count; v++)
        state->places[v].root = v;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        for (uint32_t i = 0; i < step->output_count && !step->is_host; i++) {
            if (step->outputs[i] != TN_NO_VALUE) is_made[step->outputs[i]] = true;
        }
    }
    for (uint32_t v = 0; v < program->value_count; v++) {
        if (is_made[v])
            state->places[v].kind = TN_PLACE_ARENA;
        else if (state->tensors[v].tensor.size)
            TN_TRY(place_source(context, state, v));
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind == TN_STEP_VIEW && !step->is_host)
            share_views(context->engine, state, step);
        else if (step->kind == TN_STEP_KERNEL && !step->is_host)
            share_in_place(state, step);
    }
    return TN_OK;
}

/* An output that a step makes goes straight into the caller's memory; a source, or what is an
 * output already, is copied. */
static void place_outputs(tn_context *context, tn_shape_state *state) {
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < engine->graph->output_count; i++) {
        const uint32_t value = engine->program->output_values[i], root = root_of(state, value);
        tn_value_place *place = &state->places[root];
        if (place->kind == TN_PLACE_ARENA &&
            state->tensors[root].tensor.bytes == state->outputs[i].tensor.bytes) {
            place->kind = TN_PLACE_OUTPUT;
            place->index = i;
        } else {
            state->copies[state->copy_count++] = (tn_output_copy){value, i};
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * memory */

typedef struct lifetimes {
    tn_memory_buffer *buffers;
    uint32_t *buffer_of; /* by value: index + 1 */
    size_t count;
} lifetimes;

static void use_value(lifetimes *all, const tn_shape_state *state, uint32_t value, uint32_t at) {
    if (value == TN_NO_VALUE) return;
    const uint32_t root = root_of(state, value);
    if (state->places[root].kind != TN_PLACE_ARENA) return;
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
    for (uint32_t i = 0; i < state->walk_count; i++) {
        const tn_program_step *step = &program->steps[state->walk_steps[i]];
        for (uint32_t k = 0; k < step->input_count; k++)
            use_value(all, state, step->inputs[k], i);
        for (uint32_t k = 0; k < step->operand_count; k++)
            use_value(all, state, step->operands[k], i);
        for (uint32_t k = 0; k < step->output_count; k++)
            use_value(all, state, step->outputs[k], i);
    }
    for (uint32_t i = 0; i < state->copy_count; i++)
        use_value(all, state, state->copies[i].value, state->walk_count);
}

static tn_status plan_memory(tn_context *context, tn_shape_state *state) {
    const uint32_t values = context->engine->program->value_count;
    lifetimes all = {0};
    all.buffers = tn_arena_allocate(state->arena, (size_t)values + state->walk_count + 1,
                                    sizeof(*all.buffers));
    all.buffer_of = tn_arena_allocate(state->arena, (size_t)values + 1, sizeof(*all.buffer_of));
    if (!all.buffers || !all.buffer_of) return tn_fail_memory("a memory plan");
    gather_lifetimes(context, state, &all);
    const size_t value_buffers = all.count;
    for (uint32_t i = 0; i < state->walk_count; i++) {
        if (state->walk[i].call->workspace_bytes)
            all.buffers[all.count++] = (tn_memory_buffer){
                .bytes = (size_t)state->walk[i].call->workspace_bytes, .first = i, .last = i};
    }
    TN_TRY(
        tn_memory_plan_make(&context->allocator, all.buffers, all.count, 64, &state->memory_bytes));
    for (uint32_t v = 0; v < values; v++) {
        if (all.buffer_of[v]) state->places[v].offset = all.buffers[all.buffer_of[v] - 1].offset;
    }
    size_t at = value_buffers;
    for (uint32_t i = 0; i < state->walk_count; i++) {
        if (state->walk[i].call->workspace_bytes) state->workspaces[i] = all.buffers[at++].offset;
    }
    return TN_OK;
}

tn_status tn_shape_state_place(tn_context *context, tn_shape_state *state) {
    TN_TRY(place_values(context, state));
    place_outputs(context, state);
    TN_TRY(tn_shape_state_reshape(context, state)); /* asks for the workspaces */
    return plan_memory(context, state);
}

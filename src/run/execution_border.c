/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs that the caller has in the device's memory: the value that a transfer would
 * copy there, or from there, lies where the caller's memory is, and the transfer does
 * nothing. Where a kernel overwrites the input, or two outputs are one value, the transfer copies
 * on the device. Small ones of the context's own pinned memory are part of the captured graph
 * (execution_direct.c goes on from there).
 */
#include "base/status.h"
#include "program/transfer.h"
#include "run/execution_private.h"

tn_status tn_execution_do_nothing(tn_call *call) {
    (void)call;
    return TN_OK;
}

/* Which input or output a step moves; false when it is none. */
static bool find_port(const tn_engine *engine, const tn_program_step *step,
                      tn_execution_border *border) {
    const tn_program *program = engine->program;
    const uint32_t from = step->inputs[0], to = step->outputs[0];
    for (uint32_t i = 0; i < engine->graph->input_count; i++) {
        if (program->input_values[i] != from || program->values[to].space != TN_SPACE_DEVICE)
            continue;
        *border = (tn_execution_border){.value = to, .port = i};
        return true;
    }
    for (uint32_t i = 0; i < engine->graph->output_count; i++) {
        if (program->output_values[i] != to || program->values[from].space != TN_SPACE_DEVICE)
            continue;
        *border = (tn_execution_border){.value = from, .port = i, .is_output = true};
        return true;
    }
    return false;
}

/* Whether some kernel writes in the memory of a value, not counting who makes it. */
static bool is_overwritten(const tn_context *context, const tn_shape_state *state, uint32_t root) {
    const tn_program *program = context->engine->program;
    for (uint32_t i = 0; i < state->item_count; i++) {
        const tn_program_step *step = &program->steps[state->item_steps[i]];
        for (uint32_t k = 0; k < step->output_count; k++)
            if (step->outputs[k] != TN_NO_VALUE && step->outputs[k] != root &&
                state->locations[step->outputs[k]].root == root)
                return true;
    }
    return false;
}

/* The one border of the same memory as an output's, where that is an input which it updates: the
 * two may be bound to one pointer. Else 0. */
static uint32_t find_pair(const tn_shape_state *state, const tn_execution_border *output,
                          uint32_t root) {
    uint32_t pair = 0;
    for (uint32_t b = 0; b < state->border_count; b++) {
        const tn_execution_border *border = &state->borders[b];
        if (state->locations[border->value].root != root) continue;
        if (pair || border->is_output || border->value != root || output->value == root) return 0;
        pair = b + 1;
    }
    for (uint32_t b = 0; pair && b < state->border_count; b++) /* stored twice on the device */
        if (b + 1 != pair && !state->borders[b].is_output &&
            state->borders[b].port == state->borders[pair - 1].port)
            return 0;
    return pair;
}

static bool may_share(const tn_context *context, const tn_shape_state *state, uint32_t count,
                      const tn_execution_border *border) {
    const tn_call *call = state->items[border->item].call;
    const uint32_t root = state->locations[border->value].root;
    if (state->locations[border->value].kind != TN_LOCATION_DEVICE ||
        !tn_transfer_is_copy(call->inputs[0], call->outputs[0]))
        return false;
    if (state->tensors[root].tensor.bytes != state->tensors[border->value].tensor.bytes)
        return false; /* a window in what others make */
    if (!border->is_output) return !is_overwritten(context, state, root);
    for (uint32_t b = 0; b < count; b++) /* a view of an input, or an output twice */
        if (state->locations[state->borders[b].value].root == root) return false;
    return state->tensors[root].tensor.bytes == call->inputs[0]->bytes;
}

static void note_pair(tn_shape_state *state, tn_execution_border *border) {
    const tn_call *call = state->items[border->item].call;
    const uint32_t root = state->locations[border->value].root;
    if (state->locations[border->value].kind != TN_LOCATION_DEVICE ||
        !tn_transfer_is_copy(call->inputs[0], call->outputs[0]) ||
        state->tensors[root].tensor.bytes != call->inputs[0]->bytes)
        return;
    border->pair = find_pair(state, border, root);
    if (border->pair) state->updated[border->port] = state->borders[border->pair - 1].port + 1;
}

tn_status tn_execution_find_borders(tn_context *context, tn_shape_state *state) {
    const tn_engine *engine = context->engine;
    if (!context->device.stream) return TN_OK;
    state->borders =
        tn_arena_allocate(state->arena, state->item_count + 1u, sizeof(*state->borders));
    if (!state->borders) return tn_fail_memory("a set of shapes");
    for (uint32_t i = 0; i < state->item_count; i++) {
        tn_execution_border border;
        const tn_program_step *step = &engine->program->steps[state->item_steps[i]];
        if (!tn_execution_is_transfer(engine->program, step) || !find_port(engine, step, &border))
            continue;
        border.item = i;
        border.run = state->items[i].run;
        border.may_share = may_share(context, state, state->border_count, &border);
        if (border.is_output && !border.may_share) note_pair(state, &border);
        state->borders[state->border_count++] = border;
    }
    return TN_OK;
}

static void set_pointers(const tn_context *context, tn_shape_state *state,
                         const tn_execution_border *border, void *data) {
    const uint32_t root = state->locations[border->value].root;
    for (uint32_t v = 0; v < context->engine->program->value_count; v++)
        if (state->locations[v].kind == TN_LOCATION_DEVICE && state->locations[v].root == root)
            state->tensors[v].tensor.data = (char *)data + state->locations[v].shift;
}

/* Input and output on one pointer: the update is done there. */
static void share_pair(const tn_context *context, tn_shape_state *state,
                       const tn_execution_border *border) {
    const tn_execution_border *pair = &state->borders[border->pair - 1];
    const tn_output_binding *output = &context->ports.outputs[border->port];
    const tn_input_binding *input = &context->ports.inputs[pair->port];
    if (!output->is_device || output->is_sent || !input->is_device || input->is_fetched ||
        input->data != output->data)
        return;
    state->items[border->item].run = state->items[pair->item].run = tn_execution_do_nothing;
    set_pointers(context, state, border, output->data);
}

void tn_execution_set_borders(const tn_context *context, tn_shape_state *state) {
    for (uint32_t b = 0; b < state->border_count; b++) {
        const tn_execution_border *border = &state->borders[b];
        const tn_input_binding *input =
            &context->ports.inputs[border->is_output ? 0 : border->port];
        const tn_output_binding *output =
            &context->ports.outputs[border->is_output ? border->port : 0];
        const bool is_device =
            border->is_output ? output->is_device && !output->is_sent : input->is_device;
        const bool is_shared = is_device && border->may_share;
        const bool is_fetched = !border->is_output && input->is_fetched; /* from where that is */
        state->items[border->item].run = is_shared ? tn_execution_do_nothing
                                         : is_device && !is_fetched
                                             ? tn_execution_transfer_on_device
                                             : border->run;
        if (is_shared)
            set_pointers(context, state, border,
                         border->is_output ? output->data : (void *)(uintptr_t)input->data);
        if (border->pair) share_pair(context, state, border);
    }
}

/* The context's own memory at a border, where the transfer may be captured; null otherwise. */
static const void *find_captured(const tn_context *context, const tn_shape_state *state,
                                 const tn_execution_border *border) {
    const tn_execution_item *item = &state->items[border->item];
    const tn_tensor *in_host = border->is_output ? item->call->outputs[0] : item->call->inputs[0];
    if (!tn_execution_has_pinned(context) || in_host->bytes > TN_EXECUTION_SMALL_BYTES ||
        item->run != border->run || item->run == tn_execution_transfer_and_wait)
        return NULL;
    if (border->is_output) {
        const tn_output_binding *output = &context->ports.outputs[border->port];
        return output->target == output->own && in_host->data == output->own ? output->own : NULL;
    }
    const tn_input_binding *input = &context->ports.inputs[border->port];
    const void *pinned = input->is_staged ? input->staging : input->own;
    const bool is_pinned = input->is_staged || input->data == input->own;
    return is_pinned && in_host->data == pinned ? pinned : NULL;
}

tn_status tn_execution_capture_borders(tn_context *context, tn_shape_state *state) {
    bool has_changed = false;
    for (uint32_t b = 0; b < state->border_count; b++) {
        const void *captured = find_captured(context, state, &state->borders[b]);
        has_changed = has_changed || captured != state->borders[b].captured;
        state->borders[b].captured = captured;
    }
    if (!has_changed) return TN_OK;
    tn_execution_drop_graphs(context, state);
    return tn_execution_find_graphs(context, state);
}

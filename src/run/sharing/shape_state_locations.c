/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each value of a shape state lies: constants and values that decide shapes where they are,
 * network inputs and outputs in the caller's memory, views and in-place outputs on their source,
 * windows in their larger tensor, all else in the arena, whose plan is shape_state_memory.c's.
 */
#include "base/status.h"
#include "run/sharing/sharing.h"

/* ----------------------------------------------------------------------------------------------
 * sources */

static void place_fixed(tn_shape_state *state, uint32_t value, void *data) {
    static _Alignas(64) const char nothing[64];
    tn_value_location *location = &state->locations[value];
    location->kind = TN_LOCATION_FIXED;
    location->pointer = data ? data : (void *)(uintptr_t)nothing;
    state->tensors[value].tensor.data = location->pointer;
}

/* An input whose value decides shapes is read from the state's own copy: that one is the value that
 * the shapes were made from. */
static void place_input(const tn_context *context, tn_shape_state *state, uint32_t value,
                        uint32_t input) {
    if (context->engine->plan.is_value_input[input]) {
        place_fixed(state, value, state->values[input]);
        return;
    }
    state->locations[value].kind = TN_LOCATION_INPUT;
    state->locations[value].index = input;
}

static tn_status place_source(tn_context *context, tn_shape_state *state, uint32_t value) {
    const tn_engine *engine = context->engine;
    const tn_tensor_id id = engine->program->values[value].tensor;
    const tn_graph_tensor *tensor = &engine->graph->tensors[id];
    if (tensor->is_constant && engine->program->values[value].space == TN_SPACE_DEVICE) {
        place_fixed(state, value, engine->device_constants[value]);
        return TN_OK;
    }
    if (tensor->is_constant) {
        place_fixed(state, value, (void *)(uintptr_t)tensor->data);
        return TN_OK;
    }
    for (uint32_t i = 0; tensor->is_input && i < engine->graph->input_count; i++) {
        if (engine->graph->inputs[i] != id) continue;
        place_input(context, state, value, i);
        return TN_OK;
    }
    /* A host node's output: inference has computed it, and will compute others for other shapes. */
    const tn_tensor *computed = &context->shapes.inference.tensors[id].storage.tensor;
    if (!computed->data) return TN_OK; /* only shapes are read of it */
    void *copy = tn_shape_state_copy(state, computed->data, (size_t)computed->bytes);
    if (!copy) return tn_fail_memory("a computed value");
    place_fixed(state, value, copy);
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
            state->locations[step->outputs[i]].root = step->inputs[alias - 1];
    }
}

static tn_status place_values(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    bool *is_made = tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*is_made));
    if (!is_made) return tn_fail_memory("a set of shapes");
    for (uint32_t v = 0; v < program->value_count; v++)
        state->locations[v].root = v;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        for (uint32_t i = 0; i < step->output_count && !step->is_host; i++) {
            if (step->outputs[i] != TN_NO_VALUE) is_made[step->outputs[i]] = true;
        }
    }
    for (uint32_t v = 0; v < program->value_count; v++) {
        if (is_made[v])
            state->locations[v].kind = program->values[v].space == TN_SPACE_DEVICE
                                           ? TN_LOCATION_DEVICE
                                           : TN_LOCATION_ARENA;
        else if (state->tensors[v].tensor.size)
            TN_TRY(place_source(context, state, v));
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind == TN_STEP_VIEW && !step->is_host) share_views(context->engine, state, step);
    }
    return TN_OK;
}

/* An output that a step makes goes straight into the caller's memory; a source, or what is an
 * output already, is copied. */
static void place_outputs(tn_context *context, tn_shape_state *state) {
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < engine->graph->output_count; i++) {
        size_t shift;
        const uint32_t value = engine->program->output_values[i],
                       root = tn_shape_state_root(state, value, &shift);
        tn_value_location *location = &state->locations[root];
        if (location->kind == TN_LOCATION_ARENA &&
            state->tensors[root].tensor.bytes == state->outputs[i].tensor.bytes) {
            location->kind = TN_LOCATION_OUTPUT;
            location->index = i;
        } else {
            state->copies[state->copy_count++] = (tn_output_copy){value, i};
        }
    }
}

/* Kernels see values that decide shapes already in reshape: these must be there by then. */
static tn_status check_values(const tn_context *context, const tn_shape_state *state,
                              const tn_program_step *step) {
    const tn_graph_node *node = &context->engine->graph->nodes[step->node];
    for (uint32_t i = 0; i < step->input_count; i++) {
        const tn_port *port = tn_graph_input_port(node->entry->op, i);
        size_t shift;
        if (step->inputs[i] == TN_NO_VALUE || !port || !(port->flags & TN_PORT_VALUE_NEEDED) ||
            state->locations[tn_shape_state_root(state, step->inputs[i], &shift)].kind ==
                TN_LOCATION_FIXED)
            continue;
        return tn_error_in(
            tn_fail(TN_ERROR_FORMAT, "the value of input '%s' is needed before a run", port->name),
            .node = node->name);
    }
    return TN_OK;
}

tn_status tn_shape_state_place(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    TN_TRY(place_values(context, state));
    TN_TRY(tn_shape_state_share_windows(context, state));
    tn_shape_state_share_in_place(context, state);
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind == TN_STEP_KERNEL && !step->is_host && !state->is_dropped[s])
            TN_TRY(check_values(context, state, step));
    }
    place_outputs(context, state);
    tn_shape_state_find_updated(context, state);
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reshape: the inputs' shapes, and the values that decide shapes, against the declaration and the
 * profile; then the state that was made for them, found again or made now. Finding one again takes
 * no memory.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * checks */

tn_status tn_reshape_check_shape(const tn_context *context, uint32_t input, const tn_shape *shape) {
    const tn_graph *graph = context->engine->graph;
    const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[input]];
    char given[TN_SHAPE_TEXT_BYTES], declared[TN_SHAPE_TEXT_BYTES];
    bool fits = !tensor->has_shape || tensor->shape.rank == shape->rank;
    for (uint32_t i = 0; fits && tensor->has_shape && i < shape->rank; i++)
        fits = tensor->shape.extents[i] < 0 || tensor->shape.extents[i] == shape->extents[i];
    if (fits) return tn_profiles_check_shape(context, input, shape);
    return tn_fail(
        TN_ERROR_SHAPE, "input '%s' has shape %s: expected %s", tensor->name,
        tn_shape_print(shape->rank, shape->extents, given, sizeof(given)),
        tn_shape_print(tensor->shape.rank, tensor->shape.extents, declared, sizeof(declared)));
}

static tn_status gather_value(tn_context *context, uint32_t input) {
    static _Alignas(64) const char nothing[64];
    const tn_type type = context->engine->inputs[input].type;
    size_t bytes;
    TN_TRY(tn_format_bytes(TN_LINEAR, type, &context->ports.inputs[input].shape, &bytes));
    TN_TRY(tn_bindings_check_input(context, input, bytes));
    context->shapes.values[input] =
        bytes > 0 ? tn_bindings_host_data(&context->ports.inputs[input]) : nothing;
    return TN_OK;
}

tn_status tn_reshape_gather(tn_context *context) {
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        if (!context->ports.inputs[i].has_shape)
            return tn_fail(TN_ERROR_STATE, "the shape of input '%s' is not set",
                           engine->inputs[i].name);
        context->shapes.now[i] = context->ports.inputs[i].shape;
        context->shapes.values[i] = NULL;
        if (engine->plan.is_value_input[i]) TN_TRY(gather_value(context, i));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the cache of states */

static bool state_fits(const tn_context *context, const tn_shape_state *state) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        if (!tn_shape_equal(&state->shapes[i], &context->shapes.now[i])) return false;
        if (state->value_bytes[i] &&
            memcmp(context->shapes.values[i], state->values[i], state->value_bytes[i]) != 0)
            return false;
    }
    return tn_counted_is_same(context, state);
}

static tn_status add_state(tn_context *context) {
    tn_shape_state *state;
    bool is_broken = false;
    int slot = 0;
    for (int i = 0; i < TN_SHAPE_STATES; i++) {
        if (!context->shapes.states[i]) {
            slot = i;
            break;
        }
        if (context->shapes.states[i]->last_used < context->shapes.states[slot]->last_used)
            slot = i;
    }
    TN_TRY(
        tn_inference_run(&context->shapes.inference, context->shapes.now, context->shapes.values));
    TN_TRY(tn_unfused_find(context, &is_broken));
    TN_TRY(tn_shape_state_create(context, is_broken, &state));
    if (context->shapes.states[slot]) tn_shape_state_forget(context->shapes.states[slot]);
    tn_shape_state_destroy(context, context->shapes.states[slot]);
    context->shapes.states[slot] = state;
    context->shapes.current = state;
    return TN_OK;
}

/* Until the kernels know of another state, none is current. */
static tn_status find_state(tn_context *context) {
    tn_shape_state *before = context->shapes.current;
    context->shapes.current = NULL;
    for (int i = 0; i < TN_SHAPE_STATES; i++) {
        tn_shape_state *state = context->shapes.states[i];
        if (!state || !state_fits(context, state)) continue;
        context->statistics.shape_cache_hits++;
        if (state != before && !state->is_unfused) TN_TRY(tn_shape_state_reshape(context, state));
        context->shapes.current = state;
        return TN_OK;
    }
    return add_state(context);
}

/* Nodes behind an output sized by run are never fused: the shapes of all others are known here. */
static tn_status find_dynamic(tn_context *context) {
    TN_TRY(
        tn_inference_run(&context->shapes.inference, context->shapes.now, context->shapes.values));
    return tn_unfused_find(context, &context->unfused.is_now);
}

tn_status tn_reshape_run(tn_context *context) {
    uint32_t profile = 0;
    context->shapes.are_set = context->ports.are_set = context->unfused.is_now = false;
    TN_TRY(tn_reshape_gather(context));
    TN_TRY(tn_profiles_choose(context, &profile));
    context->statistics.reshapes++;
    if (context->profiles.contexts) TN_TRY(tn_profiles_reshape(context, profile));
    if (tn_profiles_other(context)) {
        context->shapes.are_set = true;
        return TN_OK;
    }
    if (context->dynamic) TN_TRY(find_dynamic(context));
    if (!context->dynamic) {
        TN_TRY(find_state(context));
        context->shapes.current->last_used = context->statistics.reshapes;
        for (uint32_t i = 0; i < tn_context_output_count(context); i++)
            context->shapes.current->outputs[i].tensor.data = NULL; /* until a run */
        context->unfused.is_now = context->shapes.current->is_unfused;
    }
    if (context->unfused.is_now) TN_TRY(tn_unfused_reshape(context));
    context->shapes.are_set = true;
    return TN_OK;
}

tn_status tn_context_reshape(tn_context *context) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_lost(context));
    if (context->ports.has_strided) TN_TRY(tn_strided_gather(context));
    if (context->engine->has_value_inputs && context->ports.has_device) {
        TN_TRY(tn_device_ports_check_capture(context));
        TN_TRY(tn_device_ports_fetch(context));
    }
    return tn_reshape_run(context);
}

bool tn_reshape_is_stale(const tn_context *context) {
    const tn_shape_state *state = context->shapes.current;
    if (!context->engine->has_value_inputs || !state) return false;
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_input_binding *binding = &context->ports.inputs[i];
        if (state->value_bytes[i] &&
            (!binding->data || binding->bytes < state->value_bytes[i] ||
             memcmp(tn_bindings_host_data(binding), state->values[i], state->value_bytes[i]) != 0))
            return true;
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes that break a fusion: a context of the engine's unfused counterpart (engine_unfused.c) runs
 * them, with the same memory bound. Both keep what they have for the shapes that they saw, so that
 * going from one to the other and back allocates nothing.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <string.h>
#include <tenon/context_memory.h>

/* ----------------------------------------------------------------------------------------------
 * which shapes */

static tn_status mark_broken(tn_context *context, bool *out_is_any) {
    const tn_engine *engine = context->engine;
    *out_is_any = false;
    for (uint32_t s = 0; s < engine->program->step_count; s++) {
        uint32_t node = TN_NO_NODE;
        TN_TRY(tn_context_find_broken(context, s, &node));
        if (node == TN_NO_NODE) continue;
        if (!context->unfused.is_broken)
            context->unfused.is_broken =
                tn_allocate_zero(&context->allocator, engine->graph->node_count + 1,
                                 sizeof(*context->unfused.is_broken));
        if (!context->unfused.is_broken) return tn_fail_memory("a context");
        context->unfused.is_broken[node] = *out_is_any = true;
    }
    return TN_OK;
}

/* The helper process runs the plan's own program, and knows no other. */
static tn_status refuse_isolated(const tn_context *context) {
    const tn_graph *graph = context->engine->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        if (context->unfused.is_broken[n])
            return tn_error_in(
                tn_error_mend(tn_fail(TN_ERROR_SHAPE,
                                      "it was fused for other shapes than these, and plugins run "
                                      "in a helper process"),
                              ": ",
                              "build the plan with a profile that "
                              "has these shapes"),
                .node = graph->nodes[n].name);
    return TN_OK;
}

tn_status tn_unfused_find(tn_context *context, bool *out_is_broken) {
    tn_engine *engine = NULL;
    TN_TRY(mark_broken(context, out_is_broken));
    if (!*out_is_broken || context->unfused.context) return TN_OK;
    if (context->isolation) return refuse_isolated(context);
    TN_TRY(tn_engine_find_unfused(context->engine, context->unfused.is_broken, &engine));
    return tn_context_create_part(context, engine, false, &context->unfused.context);
}

void tn_unfused_destroy(tn_context *context) {
    tn_context_destroy(context->unfused.context);
    tn_deallocate(&context->allocator, context->unfused.is_broken);
}

/* ----------------------------------------------------------------------------------------------
 * the other context */

static tn_status hand_input(const tn_context *context, tn_context *other, uint32_t input) {
    const tn_input_binding *binding = &context->ports.inputs[input];
    if (context->engine->inputs[input].kind) {
        other->ports.inputs[input].items = binding->items;
        return TN_OK;
    }
    if (binding->has_shape)
        TN_TRY(tn_context_set_shape(other, input, binding->shape.rank, binding->shape.extents));
    TN_TRY(tn_context_bind_count(other, input, binding->count_axis, binding->count));
    return binding->is_device
               ? tn_context_bind_device_input(other, input, binding->data, binding->bytes)
               : tn_context_bind_input(other, input, binding->data, binding->bytes);
}

static tn_status hand_output(const tn_context *context, tn_context *other, uint32_t output) {
    const tn_output_binding *binding = &context->ports.outputs[output];
    if (context->engine->outputs[output].kind) return TN_OK;
    if (binding->allocate)
        return (binding->is_device ? tn_context_set_device_output_allocator
                                   : tn_context_set_output_allocator)(
            other, output, binding->allocate, binding->allocate_user);
    return binding->is_device
               ? tn_context_bind_device_output(other, output, binding->data, binding->bytes)
               : tn_context_bind_output(other, output, binding->data, binding->bytes);
}

tn_status tn_context_hand_over(const tn_context *context, tn_context *other) {
    tn_context_join(other, context);
    if (context->device.stream)
        TN_TRY(tn_context_set_stream(other, context->device.stream == context->device.own_stream
                                                ? NULL
                                                : context->device.stream));
    if (context->arena.lent.memory || other->arena.lent.memory)
        TN_TRY(tn_context_set_memory(other, context->arena.lent.memory, context->arena.lent.bytes));
    if (context->arena.lent_device.memory || other->arena.lent_device.memory)
        TN_TRY(tn_context_set_device_memory(other, context->arena.lent_device.memory,
                                            context->arena.lent_device.bytes));
    if (other->profile.is_on != context->profile.is_on)
        TN_TRY(tn_context_set_profiling(other, context->profile.is_on));
    for (uint32_t i = 0; i < tn_context_input_count(context); i++)
        TN_TRY(hand_input(context, other, i));
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        TN_TRY(hand_output(context, other, i));
    return TN_OK;
}

tn_status tn_unfused_reshape(tn_context *context) {
    TN_TRY(tn_context_hand_over(context, context->unfused.context));
    return tn_context_reshape(context->unfused.context);
}

tn_status tn_unfused_run(tn_context *context) {
    TN_TRY(tn_context_hand_over(context, context->unfused.context));
    return tn_context_run(context->unfused.context);
}

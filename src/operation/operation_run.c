/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running: what was built for the last sets of inputs, found again by their types, shapes, values
 * and weights; see operation_private.h. Finding one again and running it takes no memory.
 */
#include "base/memory.h"
#include "base/status.h"
#include "operation/operation_private.h"

#include <string.h>
#include <tenon/builder.h>

static const _Alignas(64) char nothing[64];

void tn_operation_state_deinit(const tn_operation *operation, tn_operation_state *state) {
    for (uint32_t i = 0; state->inputs && i < operation->input_count; i++)
        tn_deallocate(operation->allocator, state->inputs[i].value);
    tn_deallocate(operation->allocator, state->inputs);
    tn_deallocate(operation->allocator, state->is_wanted);
    tn_context_destroy(state->context);
    tn_engine_release(state->engine);
    *state = (tn_operation_state){0};
}

/* ----------------------------------------------------------------------------------------------
 * finding a state */

static bool input_fits(const tn_operation_input *known, const tn_tensor *given) {
    if (known->is_present != (given != NULL)) return false;
    if (!given) return true;
    if (known->type != given->type || known->shape.rank != given->rank) return false;
    if (given->rank > 0 &&
        memcmp(known->shape.extents, given->shape, given->rank * sizeof(*given->shape)) != 0)
        return false;
    if (known->value)
        return known->value_bytes == tn_operation_bytes(given) &&
               (known->value_bytes == 0 ||
                memcmp(known->value, given->data, known->value_bytes) == 0);
    return !known->is_constant || known->pointer == given->data;
}

static bool state_fits(const tn_operation *operation, const tn_operation_state *state,
                       const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    if (!state->context) return false;
    for (uint32_t i = 0; i < operation->input_count; i++)
        if (!input_fits(&state->inputs[i], inputs[i])) return false;
    for (uint32_t i = 0; i < operation->output_count; i++)
        if (state->is_wanted[i] != (outputs[i] != NULL)) return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * making one */

static tn_status keep_input(const tn_operation *operation, uint32_t index, const tn_tensor *given,
                            tn_operation_input *out_input) {
    if (!given) return TN_OK;
    out_input->is_present = true;
    out_input->type = given->type;
    TN_TRY(tn_shape_set(&out_input->shape, given->rank, given->shape));
    out_input->is_constant = tn_operation_is_constant(operation, index) && given->data;
    if (!out_input->is_constant) return TN_OK;
    out_input->pointer = given->data;
    if (!tn_operation_is_value(operation, index)) return TN_OK;
    out_input->value_bytes = tn_operation_bytes(given);
    out_input->value = tn_allocate_zero(operation->allocator, out_input->value_bytes + 1, 1);
    if (!out_input->value) return tn_fail_memory("an operation's value");
    memcpy(out_input->value, given->data, out_input->value_bytes);
    return TN_OK;
}

static tn_status build(const tn_operation *operation, tn_graph *graph, tn_operation_state *state) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = operation->threads, .flags = TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    TN_TRY(tn_build(graph, &options, &plan));
    tn_status status = tn_engine_load_plan(operation->runtime, plan, NULL, &state->engine);
    if (status == TN_OK) status = tn_context_create(state->engine, &state->context);
    tn_plan_destroy(plan);
    return status;
}

static tn_status make_state(const tn_operation *operation, const tn_tensor *const *inputs,
                            tn_tensor *const *outputs, tn_operation_state *state) {
    tn_graph *graph = NULL;
    state->inputs = tn_allocate_zero(operation->allocator, (size_t)operation->input_count + 1,
                                     sizeof(*state->inputs));
    state->is_wanted =
        tn_allocate_zero(operation->allocator, operation->output_count, sizeof(bool));
    if (!state->inputs || !state->is_wanted) return tn_fail_memory("an operation's state");
    for (uint32_t i = 0; i < operation->output_count; i++)
        state->is_wanted[i] = outputs[i] != NULL;
    for (uint32_t i = 0; i < operation->input_count; i++)
        TN_TRY(keep_input(operation, i, inputs[i], &state->inputs[i]));
    TN_TRY(tn_operation_graph(operation, inputs, outputs, &graph));
    const tn_status status = build(operation, graph, state);
    tn_graph_destroy(graph);
    return status;
}

/* In the slot that was used longest ago; on failure what is there stays. */
static tn_status add_state(tn_operation *operation, const tn_tensor *const *inputs,
                           tn_tensor *const *outputs, tn_operation_state **out_state) {
    tn_operation_state made = {0}, *slot = &operation->states[0];
    const tn_status status = make_state(operation, inputs, outputs, &made);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_operation_state_deinit(operation, &made);
        tn_error_restore(&error);
        return status;
    }
    for (int i = 1; i < TN_OPERATION_STATES; i++)
        if (operation->states[i].last_used < slot->last_used) slot = &operation->states[i];
    if (operation->last == slot) operation->last = NULL;
    tn_operation_state_deinit(operation, slot);
    *slot = made;
    *out_state = slot;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * running */

static tn_status bind_tensors(const tn_operation *operation, const tn_operation_state *state,
                              const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < operation->input_count; i++) {
        if (!inputs[i] || state->inputs[i].is_constant) continue;
        const void *data = inputs[i]->data ? inputs[i]->data : nothing;
        TN_TRY(tn_context_bind_input(state->context, next++, data, tn_operation_bytes(inputs[i])));
    }
    next = 0;
    for (uint32_t i = 0; i < operation->output_count; i++) {
        if (!outputs[i]) continue;
        void *data = outputs[i]->data;
        TN_TRY(tn_context_bind_output(state->context, next++, data, data ? outputs[i]->bytes : 0));
    }
    return TN_OK;
}

static tn_status read_outputs(const tn_operation *operation, const tn_operation_state *state,
                              tn_tensor *const *outputs) {
    const tn_tensor *found;
    uint32_t next = 0;
    for (uint32_t i = 0; i < operation->output_count; i++)
        if (outputs[i]) TN_TRY(tn_context_output(state->context, next++, &found));
    next = 0;
    for (uint32_t i = 0; i < operation->output_count; i++) {
        tn_shape shape;
        if (!outputs[i]) continue;
        TN_TRY(tn_context_output(state->context, next++, &found));
        TN_TRY(tn_shape_set(&shape, found->rank, found->shape));
        tn_operation_describe(outputs[i], found->type, &shape);
        if (outputs[i]->size >= sizeof(tn_tensor)) outputs[i]->heap = found->heap;
        if (outputs[i]->data) continue;
        outputs[i]->data = found->data;
        outputs[i]->bytes = found->bytes;
    }
    return TN_OK;
}

tn_status tn_operation_run(tn_operation *operation, const tn_tensor *const *inputs,
                           tn_tensor *const *outputs) {
    tn_operation_state *state = NULL;
    TN_TRY(tn_operation_check(operation, inputs, outputs, true));
    for (int i = 0; !state && i < TN_OPERATION_STATES; i++)
        if (state_fits(operation, &operation->states[i], inputs, outputs))
            state = &operation->states[i];
    if (!state) TN_TRY(add_state(operation, inputs, outputs, &state));
    state->last_used = ++operation->clock;
    TN_TRY(bind_tensors(operation, state, inputs, outputs));
    TN_TRY(tn_context_run(state->context));
    operation->last = state;
    return read_outputs(operation, state, outputs);
}

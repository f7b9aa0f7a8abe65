/* SPDX-License-Identifier: Apache-2.0 */
/* The callers' memory: pointers of a state's values from the bindings, aligned copies where the
 * memory is not aligned. */
#include "base/status.h"
#include "run/context_private.h"

#include <string.h>

/* Whether kernels may work in a caller's memory; a helper process does not see it. */
static bool is_fit(const tn_context *context, const void *memory) {
    return ((uintptr_t)memory & 63) == 0 && !context->isolation;
}

tn_status tn_bindings_check_input(const tn_context *context, uint32_t input,
                                  uint64_t needed_bytes) {
    const tn_input_binding *binding = &context->ports.inputs[input];
    const char *name = context->engine->inputs[input].name;
    char text[TN_SHAPE_TEXT_BYTES];
    if (needed_bytes == 0) return TN_OK;
    if (!binding->data) return tn_fail(TN_ERROR_STATE, "input '%s' is not bound", name);
    if (binding->bytes < needed_bytes)
        return tn_fail(
            TN_ERROR_ARGUMENT, "input '%s' has shape %s, %llu bytes; %llu are bound", name,
            tn_shape_print(binding->shape.rank, binding->shape.extents, text, sizeof(text)),
            (unsigned long long)needed_bytes, (unsigned long long)binding->bytes);
    return TN_OK;
}

/* As reserve, in memory that a device copies fastest. */
static tn_status reserve_pinned(tn_context *context, void **memory, size_t *capacity, size_t bytes,
                                const char *what) {
    if (*memory && *capacity >= bytes) return TN_OK;
    tn_execution_host_deallocate(context, *memory);
    *memory = NULL;
    *capacity = 0;
    TN_TRY(tn_execution_host_allocate(context, bytes, what, memory));
    *capacity = bytes;
    return TN_OK;
}

tn_status tn_bindings_own_output(tn_context *context, uint32_t output, size_t bytes) {
    tn_output_binding *binding = &context->ports.outputs[output];
    return reserve_pinned(context, &binding->own, &binding->own_bytes, bytes, "an output");
}

tn_status tn_bindings_own_input(tn_context *context, uint32_t input, size_t bytes) {
    tn_input_binding *binding = &context->ports.inputs[input];
    return reserve_pinned(context, &binding->own, &binding->own_bytes, bytes, "an input");
}

/* Whether a tensor in memory of the caller's goes by pinned memory of the context: the copy between
 * the two is the host's, before a run or after it, and the other one part of a captured graph. On a
 * stream of the caller's nobody waits, so that the host could copy. */
static bool goes_by_pinned(const tn_context *context, uint64_t bytes) {
    return context->device.stream && context->device.stream == context->device.own_stream &&
           tn_execution_has_pinned(context) && bytes <= TN_EXECUTION_SMALL_BYTES;
}

tn_status tn_bindings_reserve_staging(tn_context *context, uint32_t input, size_t bytes) {
    tn_input_binding *binding = &context->ports.inputs[input];
    const void *before = binding->staging;
    TN_TRY(reserve_pinned(context, &binding->staging, &binding->staging_bytes, bytes,
                          "an input's aligned copy"));
    if (binding->staging != before) context->ports.are_set = false;
    return TN_OK;
}

const void *tn_bindings_host_data(const tn_input_binding *binding) {
    return binding->is_fetched ? binding->staging : binding->data;
}

static bool is_staged(const tn_context *context, const tn_input_binding *binding, size_t bytes) {
    if (binding->is_device) return false;
    if (binding->is_read_by_host) return !is_fit(context, binding->data);
    return binding->data != binding->own && bytes > 0 && goes_by_pinned(context, bytes);
}

tn_status tn_bindings_apply_inputs(tn_context *context) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        tn_input_binding *binding = &context->ports.inputs[i];
        size_t bytes = 0;
        binding->is_staged = false;
        if (!binding->is_needed || context->engine->plan.is_value_input[i]) continue;
        TN_TRY(
            tn_format_bytes(TN_LINEAR, context->engine->inputs[i].type, &binding->shape, &bytes));
        TN_TRY(tn_bindings_check_input(context, i, bytes));
        if (!is_staged(context, binding, bytes)) continue;
        TN_TRY(tn_bindings_reserve_staging(context, i, bytes));
        binding->staged_bytes = bytes;
        binding->is_staged = true;
    }
    return TN_OK;
}

/* Whether an output is the update of an input that is bound to the same memory. */
static bool is_update(const tn_context *context, uint32_t output, uint32_t input) {
    const tn_output_binding *to = &context->ports.outputs[output];
    const tn_input_binding *from = &context->ports.inputs[input];
    return context->shapes.current->updated[output] == input + 1 && from->data == to->data &&
           from->is_device == to->is_device && to->is_device == to->is_from_device &&
           !from->is_fetched;
}

/* Whether an output's memory is some input's too: it is then written when the inputs were read. */
static bool is_input_memory(const tn_context *context, uint32_t index) {
    const tn_output_binding *output = &context->ports.outputs[index];
    const uintptr_t begin = (uintptr_t)output->data;
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_input_binding *input = &context->ports.inputs[i];
        const uintptr_t from = (uintptr_t)input->data;
        if (input->is_needed && input->data && begin < from + input->bytes &&
            from < begin + output->bytes && !is_update(context, index, i))
            return true;
    }
    return false;
}

static tn_status apply_outputs(tn_context *context) {
    for (uint32_t i = 0; i < tn_context_output_count(context); i++) {
        tn_output_binding *binding = &context->ports.outputs[i];
        tn_tensor *output = &context->shapes.current->outputs[i].tensor;
        char text[TN_SHAPE_TEXT_BYTES];
        if (binding->data && binding->bytes < output->bytes)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "output '%s' has shape %s, %llu bytes; %llu are bound", output->name,
                           tn_shape_print(output->rank, output->shape, text, sizeof(text)),
                           (unsigned long long)output->bytes, (unsigned long long)binding->bytes);
        const bool is_on_input = binding->data && is_input_memory(context, i);
        binding->is_sent = binding->is_device && (!binding->is_from_device || is_on_input);
        const bool fits = binding->is_device
                              ? !binding->is_sent
                              : (binding->is_from_device ? !goes_by_pinned(context, output->bytes)
                                                         : is_fit(context, binding->data));
        if (binding->data && fits && !is_on_input) {
            binding->target = binding->data;
        } else {
            TN_TRY(tn_bindings_own_output(context, i, (size_t)output->bytes));
            binding->target = binding->own;
        }
        output->data = binding->data ? binding->data : binding->own;
    }
    return TN_OK;
}

void *tn_bindings_input(const tn_context *context, uint32_t input) {
    static _Alignas(64) const char nothing[64];
    const tn_input_binding *binding = &context->ports.inputs[input];
    if (binding->is_staged || binding->is_fetched) return binding->staging;
    return (void *)(uintptr_t)(binding->data ? binding->data : nothing);
}

static void *pointer_of(const tn_context *context, const tn_value_location *location) {
    switch (location->kind) {
    case TN_LOCATION_ARENA:
        return (char *)context->arena.memory + location->offset;
    case TN_LOCATION_DEVICE:
        return (char *)context->arena.device_memory + location->offset;
    case TN_LOCATION_INPUT:
        return tn_bindings_input(context, location->index);
    case TN_LOCATION_OUTPUT:
        return context->ports.outputs[location->index].target;
    default:
        return location->pointer;
    }
}

static void set_pointer(const tn_context *context, tn_shape_state *state, uint32_t value) {
    char *root = pointer_of(context, &state->locations[value]);
    state->tensors[value].tensor.data = root ? root + state->locations[value].shift : NULL;
}

/* All pointers, when the state is new or the arena has moved. */
static void set_all(const tn_context *context, tn_shape_state *state) {
    for (uint32_t v = 0; v < context->engine->program->value_count; v++)
        set_pointer(context, state, v);
    for (uint32_t i = 0; i < state->item_count; i++) {
        const bool is_on_device = tn_shape_state_is_on_device(context, state, i);
        char *memory = is_on_device ? context->arena.device_memory : context->arena.memory;
        state->items[i].call->workspace =
            state->workspace_bytes[i] ? memory + state->workspaces[i] : NULL;
        if (is_on_device) state->items[i].call->stream = context->device.stream;
    }
    tn_execution_set_borders(context, state);
    tn_execution_drop_graphs(context, state);
    state->is_applied = true;
}

static tn_status grow_arena(tn_context *owner, const tn_shape_state *state) {
    const bool fits = state->memory_bytes <= owner->arena.memory_bytes;
    if (fits && state->device_bytes <= owner->arena.device_bytes) return TN_OK;
    owner->arena.moves++;
    if (!fits) TN_TRY(tn_context_reserve_arena(owner, state->memory_bytes));
    TN_TRY(tn_context_reserve_device_arena(owner, state->device_bytes));
    owner->statistics.arena_bytes = owner->arena.memory_bytes + owner->arena.device_bytes;
    return TN_OK;
}

/* Contexts of several profiles have one arena, of which one at a time makes use: the first one's.
 */
static tn_status reserve_memory(tn_context *context) {
    tn_context *owner = context->arena.owner ? context->arena.owner : context;
    TN_TRY(grow_arena(owner, context->shapes.current));
    if (context->arena.seen == owner->arena.moves) return TN_OK;
    context->arena.seen = owner->arena.moves;
    context->arena.memory = owner->arena.memory;
    context->arena.memory_bytes = owner->arena.memory_bytes;
    context->arena.device_memory = owner->arena.device_memory;
    context->arena.device_bytes = owner->arena.device_bytes;
    for (int i = 0; i < TN_SHAPE_STATES; i++)
        if (context->shapes.states[i]) context->shapes.states[i]->is_applied = false;
    return TN_OK;
}

tn_status tn_bindings_apply(tn_context *context) {
    tn_shape_state *state = context->shapes.current;
    if (context->ports.has_strided) TN_TRY(tn_strided_settle(context));
    TN_TRY(reserve_memory(context));
    TN_TRY(tn_bindings_apply_inputs(context));
    TN_TRY(apply_outputs(context));
    if (!state->is_applied) set_all(context, state);
    for (uint32_t i = 0; i < state->patch_count; i++)
        set_pointer(context, state, state->patches[i]);
    if (context->ports.has_strided) tn_strided_bypass(context);
    TN_TRY(tn_execution_capture_borders(context, state));
    for (uint32_t i = 0; i < state->item_count && context->isolation; i++)
        if (state->items[i].run == tn_isolated_run)
            TN_TRY(tn_isolated_call_define(state->items[i].call));
    context->ports.are_set = true;
    return TN_OK;
}

void tn_bindings_stage_inputs(tn_context *context) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_input_binding *binding = &context->ports.inputs[i];
        if (binding->is_staged && binding->staged_bytes > 0)
            memcpy(binding->staging, binding->data, binding->staged_bytes);
    }
}

bool tn_bindings_has_copies(const tn_context *context) {
    if (context->shapes.current->copy_count > 0) return true;
    for (uint32_t i = 0; i < tn_context_output_count(context); i++) {
        const tn_output_binding *binding = &context->ports.outputs[i];
        if (binding->data && binding->data != binding->target && !binding->is_sent) return true;
    }
    return false;
}

void tn_bindings_copy_outputs(tn_context *context) {
    const tn_shape_state *state = context->shapes.current;
    for (uint32_t i = 0; i < state->copy_count; i++) {
        const tn_tensor *from = &state->tensors[state->copies[i].value].tensor;
        if (from->bytes)
            memcpy(context->ports.outputs[state->copies[i].output].target, from->data,
                   (size_t)from->bytes);
    }
    for (uint32_t i = 0; i < tn_context_output_count(context); i++) {
        const tn_output_binding *binding = &context->ports.outputs[i];
        if (binding->data && binding->data != binding->target && !binding->is_sent &&
            state->outputs[i].tensor.bytes > 0)
            memcpy(binding->data, binding->target, (size_t)state->outputs[i].tensor.bytes);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller gives a context: the shapes of inputs, and memory for inputs and outputs, the
 * host's or the device's. It is noted here; bindings.c checks it and sets the pointers before the
 * next run.
 */
#include "run/context_private.h"

tn_status tn_context_fail_index(const char *kind, uint32_t index, uint32_t count) {
    return tn_fail(TN_ERROR_ARGUMENT, "there is no %s %u: there are %u", kind, index, count);
}

tn_status tn_context_set_shape(tn_context *context, uint32_t input, uint32_t rank,
                               const int64_t *extents) {
    tn_shape shape;
    if (!context || (rank && !extents))
        return tn_fail(TN_ERROR_ARGUMENT, "tn_context_set_shape needs a context and extents");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_input(context, input));
    tn_status status = tn_shape_set(&shape, rank, extents);
    if (status != TN_OK)
        return tn_error_at(status, "input '%s'", context->engine->inputs[input].name);
    tn_input_binding *binding = &context->ports.inputs[input];
    const bool is_same = binding->has_shape && tn_shape_equal(&binding->shape, &shape);
    if (is_same && context->engine->profile_count == 1) return TN_OK; /* checked before */
    TN_TRY(tn_reshape_check_shape(context, input, &shape));
    if (!is_same) context->shapes.are_set = false;
    binding->shape = shape;
    binding->has_shape = true;
    return TN_OK;
}

void tn_context_forget_pointers(tn_context *context) {
    context->ports.are_set = false;
    for (int i = 0; i < TN_SHAPE_STATES; i++)
        if (context->shapes.states[i]) context->shapes.states[i]->is_applied = false;
}

/* What was bound in the device's memory is no longer; `is_copied`: and went by a copy. */
static void take_back(tn_context *context, bool *is_device, bool *is_copied) {
    if (*is_device) tn_context_forget_pointers(context);
    *is_device = *is_copied = false;
}

void tn_context_note_input(tn_context *context, uint32_t input, const void *data, uint64_t bytes) {
    tn_input_binding *binding = &context->ports.inputs[input];
    take_back(context, &binding->is_device, &binding->is_fetched);
    if (binding->data != data || binding->bytes != bytes) context->ports.are_set = false;
    binding->data = data;
    binding->bytes = bytes;
    binding->heap = NULL;
}

tn_status tn_context_bind_input(tn_context *context, uint32_t input, const void *data,
                                uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_input(context, input));
    tn_context_note_input(context, input, data, bytes);
    context->ports.inputs[input].strided.is_bound = false;
    return TN_OK;
}

tn_status tn_context_bind_device_input(tn_context *context, uint32_t input, const void *device_data,
                                       uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_input(context, input));
    if (!context->device.own_stream)
        return tn_context_bind_input(context, input, device_data, bytes);
    tn_input_binding *binding = &context->ports.inputs[input];
    const bool is_same = binding->is_device && binding->data == device_data;
    TN_TRY(tn_context_bind_input(context, input, device_data, bytes));
    tn_device_ports_bind_input(context, input);
    if (!is_same) tn_context_forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_bind_device_output(tn_context *context, uint32_t output, void *device_data,
                                        uint64_t bytes) {
    if (!context || !device_data)
        return tn_fail(TN_ERROR_ARGUMENT, "a context and memory of the device are needed");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_output(context, output));
    if (!context->device.own_stream)
        return tn_context_bind_output(context, output, device_data, bytes);
    tn_output_binding *binding = &context->ports.outputs[output];
    const bool is_same = binding->is_device && binding->data == device_data;
    TN_TRY(tn_context_bind_output(context, output, device_data, bytes));
    tn_device_ports_bind_output(context, output);
    if (!is_same) tn_context_forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_lend_input(tn_context *context, uint32_t input, uint64_t bytes,
                                void **out_data) {
    if (!context || !out_data)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_lend_input needs a context and a target for the pointer");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_input(context, input));
    TN_TRY(tn_context_check_lost(context));
    TN_TRY(tn_context_wait_all(context)); /* the device may still read the old memory */
    TN_TRY(tn_bindings_own_input(context, input, (size_t)bytes));
    TN_TRY(tn_context_bind_input(context, input, context->ports.inputs[input].own, bytes));
    *out_data = context->ports.inputs[input].own;
    return TN_OK;
}

void tn_context_note_output(tn_context *context, uint32_t output, void *data, uint64_t bytes) {
    tn_output_binding *binding = &context->ports.outputs[output];
    take_back(context, &binding->is_device, &binding->is_sent);
    binding->allocate = NULL;
    if (binding->data != data || binding->bytes != bytes) context->ports.are_set = false;
    binding->data = data;
    binding->bytes = bytes;
}

tn_status tn_context_bind_output(tn_context *context, uint32_t output, void *data, uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_output(context, output));
    tn_context_note_output(context, output, data, bytes);
    context->ports.outputs[output].strided.is_bound = false;
    return TN_OK;
}

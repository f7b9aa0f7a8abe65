/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs whose memory the caller is asked for in each run. What he answers is bound like what he
 * binds himself, so that bindings.c and the device's borders know of nothing new.
 */
#include "run/context_private.h"

static uint64_t alignment_of(const tn_context *context, const tn_output_binding *binding) {
    return binding->is_device ? context->engine->device->alignment : 64;
}

/* Until the caller is asked again. */
static void forget(tn_context *context, tn_output_binding *binding) {
    if (binding->data && binding->is_device)
        tn_context_forget_pointers(context);
    else if (binding->data)
        context->ports.are_set = false;
    binding->data = NULL;
    binding->bytes = 0;
}

static tn_status fail_answer(tn_context *context, uint32_t output, uint64_t bytes,
                             const void *memory) {
    tn_output_binding *binding = &context->ports.outputs[output];
    const char *name = context->engine->outputs[output].name;
    forget(context, binding);
    if (!memory)
        return tn_fail(TN_ERROR_MEMORY,
                       "the caller's allocator has no memory for the %llu bytes of output '%s'",
                       (unsigned long long)bytes, name);
    return tn_fail(TN_ERROR_ARGUMENT,
                   "the caller's allocator answers memory for output '%s' that is not aligned to "
                   "%llu bytes",
                   name, (unsigned long long)alignment_of(context, binding));
}

tn_status tn_output_ask(tn_context *context, uint32_t output, uint64_t bytes) {
    static _Alignas(4096) char nothing[64]; /* of an output without elements */
    tn_output_binding *binding = &context->ports.outputs[output];
    const uint64_t alignment = alignment_of(context, binding);
    if (!binding->allocate || binding->is_asked) return TN_OK;
    void *memory = binding->allocate(binding->allocate_user, output, bytes, alignment);
    if (!memory && bytes == 0) memory = nothing;
    if (!memory || (binding->is_device && (uintptr_t)memory % alignment != 0))
        return fail_answer(context, output, bytes, memory);
    binding->is_asked = true;
    if (binding->data == memory && binding->bytes == bytes) return TN_OK;
    if (binding->data != memory && binding->is_device) tn_context_forget_pointers(context);
    context->ports.are_set = false;
    binding->data = memory;
    binding->bytes = bytes;
    return TN_OK;
}

void tn_output_begin(tn_context *context) {
    for (uint32_t i = 0; i < tn_context_output_count(context); i++) {
        context->ports.outputs[i].is_asked = false;
        if (context->ports.outputs[i].allocate && context->dynamic)
            forget(context, &context->ports.outputs[i]); /* what it was in an earlier run */
    }
}

tn_status tn_output_ask_all(tn_context *context) {
    tn_output_begin(context);
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        TN_TRY(tn_output_ask(context, i, context->shapes.current->outputs[i].tensor.bytes));
    return TN_OK;
}

static tn_status set(tn_context *context, uint32_t output, tn_output_allocate allocate, void *user,
                     bool is_device) {
    tn_output_binding *binding = &context->ports.outputs[output];
    if (allocate && binding->allocate == allocate && binding->allocate_user == user &&
        binding->is_device == is_device)
        return TN_OK;
    TN_TRY(tn_context_bind_output(context, output, NULL, 0));
    if (!allocate) return TN_OK;
    binding->allocate = allocate;
    binding->allocate_user = user;
    context->ports.has_allocators = true;
    context->ports.are_set = false;
    if (!is_device) return TN_OK;
    tn_device_ports_bind_output(context, output);
    tn_context_forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_set_output_allocator(tn_context *context, uint32_t output,
                                          tn_output_allocate allocate, void *user) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_context_check_dense_output(context, output));
    return set(context, output, allocate, user, false);
}

tn_status tn_context_set_device_output_allocator(tn_context *context, uint32_t output,
                                                 tn_output_allocate allocate, void *user) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_context_check_dense_output(context, output));
    if (!context->device.own_stream)
        return tn_fail(TN_ERROR_STATE, "the engine runs on the processor, not on a device");
    return set(context, output, allocate, user, true);
}

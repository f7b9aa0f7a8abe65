/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running on a device: the context's stream, and the steps that move tensors. Everything is
 * enqueued on one stream in the order of execution. The host waits where a step of the processor
 * reads what the device made (in the step that copies it), and once at the end.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "program/transfer.h"
#include "run/execution_private.h"

tn_status tn_execution_open_device(tn_context *context) {
    const tn_device *device = context->engine->device;
    if (!context->engine->stream) return TN_OK;
    const tn_status status = device->stream_create(device, &context->device.own_stream);
    if (status != TN_OK) return tn_device_failed(device, status, "a stream");
    context->device.stream = context->device.own_stream;
    return TN_OK;
}

void tn_execution_close_device(tn_context *context) {
    const tn_device *device = context->engine->device;
    if (!context->device.own_stream) return;
    if (context->device.stream != context->device.own_stream)
        (void)device->stream_wait(device, context->device.stream);
    if (context->arena.device_memory && !context->arena.lent_device.memory && !context->arena.owner)
        tn_device_give_memory(device, &context->device_allocator, context->arena.device_memory,
                              context->device.own_stream);
    (void)device->stream_wait(device, context->device.own_stream);
    tn_context_close_completion(context);
    device->stream_destroy(device, context->device.own_stream);
}

bool tn_execution_has_pinned(const tn_context *context) {
    const tn_device *device = context->engine->device;
    return context->device.own_stream && !context->isolation &&
           TN_DEVICE_HAS(device, host_allocate) && TN_DEVICE_HAS(device, host_deallocate);
}

tn_status tn_execution_host_allocate(tn_context *context, size_t bytes, const char *what,
                                     void **out_memory) {
    const tn_device *device = context->engine->device;
    if (!tn_execution_has_pinned(context))
        return tn_context_take_data(context, bytes, what, out_memory);
    const tn_status status = device->host_allocate(device, bytes ? bytes : 64, out_memory);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, what);
}

void tn_execution_host_deallocate(tn_context *context, void *memory) {
    const tn_device *device = context->engine->device;
    if (tn_execution_has_pinned(context))
        device->host_deallocate(device, memory);
    else
        tn_context_give_data(context, memory);
}

tn_status tn_execution_wait(tn_context *context) {
    const tn_device *device = context->engine->device;
    if (!context->device.is_pending) return TN_OK;
    context->device.is_pending = false;
    context->statistics.waits++;
    const tn_status status = device->stream_wait(device, context->device.stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "running the network");
}

tn_status tn_execution_verify(tn_context *context) {
    const tn_program *program = context->engine->program;
    if (!context->device.stream) return TN_OK;
    for (uint32_t s = 0; context->kernels && s < program->step_count; s++) {
        tn_open_kernel *opened = &context->kernels[s];
        if (!opened->is_open || !opened->prepared->kernel || !opened->prepared->kernel->verify)
            continue;
        const tn_execution_item item = {.call = &opened->call};
        opened->call.host_private = &opened->scope;
        const tn_status status = opened->prepared->kernel->verify(&opened->call);
        if (status != TN_OK) return tn_execution_failed(&item, status);
    }
    return TN_OK;
}

tn_status tn_execution_settle(tn_context *context, uint32_t item) {
    const tn_execution_item *waited = &context->shapes.current->items[item];
    context->device.is_pending =
        context->device.is_pending ||
        tn_shape_state_is_on_device(context, context->shapes.current, item);
    const tn_status status = tn_execution_wait(context);
    return status == TN_OK ? TN_OK : tn_execution_blame(waited, status);
}

static tn_status move(tn_call *call, uint32_t direction) {
    tn_context *context = call->user;
    context->device.is_pending = true;
    return tn_transfer(call->device, call->inputs[0], call->outputs[0], direction, call->workspace,
                       call->stream);
}

static tn_status run_to_device(tn_call *call) {
    return move(call, TN_TRANSFER_TO_DEVICE);
}
tn_status tn_execution_transfer_on_device(tn_call *call) {
    return move(call, TN_TRANSFER_ON_DEVICE);
}
static tn_status run_to_host(tn_call *call) {
    return move(call, TN_TRANSFER_TO_HOST);
}
tn_status tn_execution_transfer_and_wait(tn_call *call) {
    TN_TRY(move(call, TN_TRANSFER_TO_HOST));
    return tn_execution_wait(call->user);
}

bool tn_execution_is_transfer(const tn_program *program, const tn_program_step *step) {
    return step->kind == TN_STEP_REFORMAT &&
           (program->values[step->inputs[0]].space != TN_SPACE_HOST ||
            program->values[step->outputs[0]].space != TN_SPACE_HOST);
}

/* Whether the processor reads the value that a step copies. */
static bool is_read_by_host(const tn_engine *engine, const tn_tensor *tensor,
                            const tn_shape_state *state) {
    const tn_program *program = engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->is_device) continue;
        for (uint32_t i = 0; i < step->input_count; i++)
            if (step->inputs[i] != TN_NO_VALUE && &state->tensors[step->inputs[i]].tensor == tensor)
                return true;
        for (uint32_t i = 0; i < step->operand_count; i++)
            if (&state->tensors[step->operands[i]].tensor == tensor) return true;
    }
    return false;
}

void tn_execution_make_transfer(tn_context *context, const tn_shape_state *state,
                                tn_execution_item *item, uint32_t from_space, uint32_t to_space,
                                uint64_t *out_workspace_bytes) {
    tn_call *call = item->call;
    const tn_tensor *from = call->inputs[0], *to = call->outputs[0];
    uint32_t direction = TN_TRANSFER_ON_DEVICE;
    item->run = tn_execution_transfer_on_device;
    if (from_space == TN_SPACE_HOST) {
        direction = TN_TRANSFER_TO_DEVICE;
        item->run = run_to_device;
    } else if (to_space == TN_SPACE_HOST) {
        direction = TN_TRANSFER_TO_HOST;
        item->run = is_read_by_host(context->engine, to, state) ? tn_execution_transfer_and_wait
                                                                : run_to_host;
    }
    call->user = context;
    call->device = context->engine->device;
    call->stream = context->device.stream;
    *out_workspace_bytes = call->workspace_bytes = tn_transfer_scratch_bytes(from, to, direction);
}

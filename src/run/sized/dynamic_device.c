/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks sized by run on a device: transfers between its memory and the host's, and when the host
 * waits. All is enqueued on the context's stream. The host waits for sizes, which it reads to infer
 * what comes next, before its own steps, and at the end.
 */
#include "run/execution_private.h"
#include "base/status.h"
#include "plugin/devices.h"
#include "program/transfer.h"
#include "run/sized/dynamic.h"

/* ----------------------------------------------------------------------------------------------
 * waiting */

tn_status tn_dynamic_arrive(tn_context *context) {
    if (!context->dynamic->is_arriving) return TN_OK;
    context->dynamic->is_arriving = false;
    return tn_execution_wait(context);
}

/* What goes wrong on the device is the step's where the host waits for each of them. */
tn_status tn_dynamic_enqueued(tn_context *context, uint32_t index) {
    const tn_execution_item item = {.call = &context->kernels[index].call};
    context->device.is_pending = true;
    tn_status status = tn_device_launched(context->engine->device, "after the kernel's run");
    if (status == TN_OK && context->profile.is_on) status = tn_execution_wait(context);
    return status == TN_OK ? TN_OK : tn_execution_blame(&item, status);
}

/* ----------------------------------------------------------------------------------------------
 * transfers */

/* The caller's memory of the device that a value is bound to; null: none. */
static void *bound_input(const tn_context *context, uint32_t value) {
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < engine->graph->input_count; i++)
        if (engine->program->input_values[i] == value && context->ports.inputs[i].is_device &&
            !context->ports.inputs[i].is_fetched)
            return (void *)(uintptr_t)context->ports.inputs[i].data;
    return NULL;
}

static bool is_read(const tn_program *program, uint32_t value) {
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        for (uint32_t i = 0; i < step->input_count; i++)
            if (step->inputs[i] == value) return true;
        for (uint32_t i = 0; i < step->operand_count; i++)
            if (step->operands[i] == value) return true;
    }
    return false;
}

/* Whether some input's memory is written with an output: what reads it may come later. */
static bool is_input_memory(const tn_context *context, const tn_output_binding *output) {
    const uintptr_t begin = (uintptr_t)output->data;
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_input_binding *input = &context->ports.inputs[i];
        const uintptr_t from = (uintptr_t)input->data;
        if (input->data && begin < from + input->bytes && from < begin + output->bytes) return true;
    }
    return false;
}

/* The one output that a value is, and nothing else, where it is bound in the device's memory and is
 * large enough; null: none. */
static const tn_output_binding *bound_output(const tn_context *context, uint32_t value,
                                             uint64_t bytes) {
    const tn_engine *engine = context->engine;
    const tn_output_binding *found = NULL;
    for (uint32_t i = 0; i < engine->graph->output_count; i++) {
        if (engine->program->output_values[i] != value) continue;
        if (found) return NULL;
        found = &context->ports.outputs[i];
        if (!found->is_device || found->bytes < bytes) return NULL;
    }
    return found && !is_read(engine->program, value) && !is_input_memory(context, found) ? found
                                                                                         : NULL;
}

/* Of outputs that the value is, in the device's memory: the caller's allocator. */
static tn_status ask_outputs(tn_context *context, uint32_t value, uint64_t bytes) {
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < engine->graph->output_count; i++)
        if (engine->program->output_values[i] == value && context->ports.outputs[i].is_device)
            TN_TRY(tn_output_ask(context, i, bytes));
    return TN_OK;
}

/* Where it goes, and by which of the copies. */
static tn_status find_target(tn_context *context, uint32_t from, uint32_t to,
                             uint32_t *out_direction) {
    const tn_program_value *values = context->engine->program->values;
    struct tn_dynamic_run *dynamic = context->dynamic;
    tn_tensor *tensor = &dynamic->tensors[to].tensor;
    const tn_output_binding *output = NULL;
    *out_direction = TN_TRANSFER_ON_DEVICE;
    if (values[to].space == TN_SPACE_HOST) {
        TN_TRY(ask_outputs(context, to, tensor->bytes));
        output = bound_output(context, to, tensor->bytes);
        if (!output) *out_direction = TN_TRANSFER_TO_HOST;
    } else if (values[from].space == TN_SPACE_HOST && !bound_input(context, from)) {
        *out_direction = TN_TRANSFER_TO_DEVICE;
    }
    if (!output) return tn_dynamic_lay(context, to);
    tensor->data = output->data;
    dynamic->values[to].is_ready = dynamic->values[to].is_delivered = true;
    return TN_OK;
}

static tn_status move(tn_context *context, const tn_tensor *from, const tn_tensor *to,
                      uint32_t direction) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const uint64_t bytes = tn_transfer_scratch_bytes(from, to, direction);
    size_t scratch = 0;
    context->device.is_pending = true;
    dynamic->is_arriving = dynamic->is_arriving || direction == TN_TRANSFER_TO_HOST;
    if (bytes > 0) TN_TRY(tn_dynamic_take(context, TN_SPACE_DEVICE, (size_t)bytes, &scratch));
    const tn_status status =
        tn_transfer(context->engine->device, from, to, direction,
                    bytes > 0 ? dynamic->buffers[scratch].memory : NULL, context->device.stream);
    if (bytes > 0) tn_dynamic_give(context, scratch);
    return status;
}

tn_status tn_dynamic_transfer(tn_context *context, const tn_program_step *step) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const uint32_t from = step->inputs[0], to = step->outputs[0];
    uint32_t direction = 0;
    TN_TRY(tn_context_describe(context, to, &dynamic->tensors[to]));
    const tn_tensor *source = dynamic->step_inputs[0];
    tn_tensor *target = &dynamic->tensors[to].tensor;
    void *bound = bound_input(context, from);
    if (bound && tn_transfer_is_copy(source, target)) { /* no kernel writes on its input here */
        target->data = bound;
        dynamic->values[to].is_ready = true;
        return TN_OK;
    }
    TN_TRY(find_target(context, from, to, &direction));
    return move(context, source, target, direction);
}

/* ----------------------------------------------------------------------------------------------
 * steps that a kernel of the device refuses at the shape that a run has found */

static tn_status take_mirror(tn_context *context, tn_dynamic_mirror *mirror, uint64_t bytes) {
    TN_TRY(tn_dynamic_take(context, TN_SPACE_HOST, (size_t)bytes, &mirror->buffer));
    mirror->is_taken = true;
    return TN_OK;
}

/* `unbounded`: axes whose extents nothing bounds (bit i: axis i); there is memory later then. */
static tn_status mirror(tn_context *context, uint32_t value, tn_tensor *tensor, uint32_t unbounded,
                        tn_dynamic_mirror *mirror) {
    tn_shape shape = {.rank = tensor && !(unbounded & TN_UNBOUNDED_RANK) ? tensor->rank : 0};
    mirror->tensor = tensor;
    mirror->is_taken = false;
    if (!tensor || context->engine->program->values[value].space == TN_SPACE_HOST) return TN_OK;
    for (uint32_t axis = 0; axis < shape.rank; axis++)
        shape.extents[axis] = unbounded >> axis & 1 ? 0 : tensor->shape[axis];
    TN_TRY(tn_tensor_init(&mirror->storage, tensor->type, TN_LINEAR, &shape));
    tn_tensor_unbound(&mirror->storage, unbounded);
    mirror->tensor = &mirror->storage.tensor;
    mirror->tensor->name = tensor->name;
    mirror->tensor->quantization = tensor->quantization;
    if (unbounded) return TN_OK;
    TN_TRY(take_mirror(context, mirror, mirror->tensor->bytes));
    mirror->tensor->data = context->dynamic->buffers[mirror->buffer].memory;
    return TN_OK;
}

static tn_status fetch_inputs(tn_context *context, const tn_program_step *step) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    for (uint32_t i = 0; i < step->input_count; i++) {
        tn_dynamic_mirror *to = &dynamic->mirrors[i];
        TN_TRY(mirror(context, step->inputs[i], dynamic->step_inputs[i], 0, to));
        if (to->is_taken && dynamic->step_inputs[i]->data) /* not of its shape alone */
            TN_TRY(move(context, dynamic->step_inputs[i], to->tensor, TN_TRANSFER_TO_HOST));
        else if (to->is_taken)
            to->tensor->data = NULL;
        dynamic->step_inputs[i] = to->tensor;
    }
    return tn_dynamic_arrive(context);
}

/* The reference asks for memory of an output without a bound: the mirror's. */
static tn_status allocate_mirror(tn_output_source *source, tn_call *call, uint32_t index,
                                 uint64_t bytes, void **out_data) {
    tn_context *context = source->user;
    struct tn_dynamic_run *dynamic = context->dynamic;
    tn_dynamic_mirror *to = &dynamic->mirrors[call->input_count + index];
    if (to->tensor != &to->storage.tensor)
        return dynamic->source.allocate(&dynamic->source, call, index, bytes, out_data);
    TN_TRY(take_mirror(context, to, bytes));
    *out_data = dynamic->buffers[to->buffer].memory;
    return TN_OK;
}

/* The device's memory for it, once it has its size. */
static tn_status lay_output(tn_context *context, uint32_t value, const tn_tensor *made) {
    tn_tensor_storage *to = &context->dynamic->tensors[value];
    const tn_tensor before = to->tensor;
    tn_shape shape;
    TN_TRY(tn_shape_set(&shape, made->rank, made->shape));
    TN_TRY(tn_tensor_init(to, before.type, before.format, &shape));
    to->tensor.name = before.name;
    to->tensor.quantization = before.quantization;
    return tn_dynamic_lay(context, value);
}

/* With the sizes that the reference has found. */
static tn_status send_outputs(tn_context *context, const tn_program_step *step) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const tn_dynamic_mirror *from = &dynamic->mirrors[step->input_count + i];
        tn_tensor *to =
            step->outputs[i] == TN_NO_VALUE ? NULL : &dynamic->tensors[step->outputs[i]].tensor;
        dynamic->step_outputs[i] = to;
        if (!from->is_taken) continue;
        if (!to->data) TN_TRY(lay_output(context, step->outputs[i], from->tensor));
        for (uint32_t axis = 0; axis < to->rank; axis++)
            to->shape[axis] = from->tensor->shape[axis];
        TN_TRY(move(context, from->tensor, to, TN_TRANSFER_TO_DEVICE));
    }
    return TN_OK;
}

static tn_status mirror_outputs(tn_context *context, const tn_program_step *step) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t value = step->outputs[i];
        tn_dynamic_mirror *to = &dynamic->mirrors[step->input_count + i];
        const uint32_t unbounded =
            value == TN_NO_VALUE
                ? 0
                : context->shapes.inference.tensors[context->engine->program->values[value].tensor]
                      .unbounded;
        TN_TRY(mirror(context, value, dynamic->step_outputs[i], unbounded, to));
        dynamic->step_outputs[i] = to->tensor;
    }
    return TN_OK;
}

static tn_status run_on_mirrors(tn_context *context, uint32_t index, tn_call *call) {
    const tn_program_step *step = &context->engine->program->steps[index];
    tn_call_scope *scope = call->host_private;
    tn_output_source source = context->dynamic->source;
    source.allocate = allocate_mirror;
    TN_TRY(fetch_inputs(context, step));
    TN_TRY(mirror_outputs(context, step));
    if (scope->outputs) scope->outputs = &source;
    TN_TRY(tn_call_invoke(call, call->op->reference, "the reference"));
    return send_outputs(context, step);
}

tn_status tn_dynamic_run_on_host(tn_context *context, uint32_t index, tn_call *call) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_program_step *step = &context->engine->program->steps[index];
    const uint32_t count = step->input_count + step->output_count;
    for (uint32_t i = 0; i < count; i++)
        dynamic->mirrors[i].is_taken = false;
    call->device = tn_runtime_cpu(context->engine->runtime);
    call->stream = NULL;
    const tn_status status = run_on_mirrors(context, index, call);
    for (uint32_t i = 0; i < count; i++)
        if (dynamic->mirrors[i].is_taken) tn_dynamic_give(context, dynamic->mirrors[i].buffer);
    return status;
}

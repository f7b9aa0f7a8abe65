/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a run whose shapes are found during it; see dynamic.h. */
#include "run/sized/dynamic.h"
#include "base/clock.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * values */

static void *source_data(const tn_context *context, uint32_t value) {
    static _Alignas(64) const char nothing[64];
    const tn_engine *engine = context->engine;
    const tn_graph *graph = engine->graph;
    const tn_tensor_id id = engine->program->values[value].tensor;
    const tn_graph_tensor *tensor = &graph->tensors[id];
    if (engine->program->values[value].space == TN_SPACE_DEVICE)
        return engine->device_constants[value];
    if (tensor->is_constant) return (void *)(uintptr_t)(tensor->data ? tensor->data : nothing);
    for (uint32_t i = 0; tensor->is_input && i < graph->input_count; i++)
        if (graph->inputs[i] == id && !context->engine->plan.is_value_input[i])
            return tn_bindings_input(context, i);
    return context->shapes.inference.tensors[id].storage.tensor.data;
}

/* An input of a step: made by an earlier one, or a source. */
tn_status tn_dynamic_read_value(tn_context *context, uint32_t value, tn_tensor **out_tensor) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    *out_tensor = NULL;
    if (value == TN_NO_VALUE) return TN_OK;
    if (!dynamic->values[value].is_ready) {
        TN_TRY(tn_context_describe(context, value, &dynamic->tensors[value]));
        dynamic->tensors[value].tensor.data = source_data(context, value);
        dynamic->values[value].is_ready = true;
    }
    *out_tensor = &dynamic->tensors[value].tensor;
    return TN_OK;
}

static tn_status read_values(tn_context *context, const uint32_t *values, uint32_t count,
                             tn_tensor **tensors) {
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(tn_dynamic_read_value(context, values[i], &tensors[i]));
    return TN_OK;
}

tn_status tn_dynamic_lay(tn_context *context, uint32_t value) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    tn_tensor *tensor = &dynamic->tensors[value].tensor;
    tn_dynamic_value *made = &dynamic->values[value];
    TN_TRY(tn_dynamic_take(context, context->engine->program->values[value].space,
                           (size_t)tensor->bytes, &made->buffer));
    tensor->data = dynamic->buffers[made->buffer].memory;
    made->has_buffer = made->is_ready = true;
    return TN_OK;
}

/* Those without a bound have memory once the kernel asks for it. */
static tn_status make_values(tn_context *context, uint32_t index) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_program_step *step = &context->engine->program->steps[index];
    bool is_unbounded = false;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t value = step->outputs[i];
        dynamic->step_outputs[i] = NULL;
        if (value == TN_NO_VALUE) continue;
        if (dynamic->values[value].kind) {
            TN_TRY(tn_dynamic_open_items(context, value));
        } else {
            TN_TRY(tn_context_describe(context, value, &dynamic->tensors[value]));
            TN_TRY(tn_dynamic_unbound(context, index, value, &is_unbounded));
            if (!is_unbounded) TN_TRY(tn_dynamic_lay(context, value));
        }
        dynamic->step_outputs[i] = &dynamic->tensors[value].tensor;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static void hide_data(tn_context *context, const tn_program_step *step) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const tn_port *port = tn_graph_input_port(op, i);
        if (!dynamic->step_inputs[i] || !port || !(port->flags & TN_PORT_SHAPE_ONLY)) continue;
        dynamic->hidden[i] = *dynamic->step_inputs[i];
        tn_context_hide(context, step->inputs[i], &dynamic->hidden[i]);
        dynamic->step_inputs[i] = &dynamic->hidden[i];
    }
}

static tn_status infer_node(tn_context *context, uint32_t node) {
    if (!context->engine->plan.is_after_run[node]) return TN_OK;
    if (tn_inference_has_values(&context->shapes.inference, node))
        return tn_inference_node(&context->shapes.inference, node);
    tn_fail(TN_ERROR_STATE, "a value that decides shapes was not computed before");
    return tn_error_in(TN_ERROR_STATE, .node = context->engine->graph->nodes[node].name);
}

static tn_status infer_nodes(tn_context *context, const tn_program_step *step) {
    TN_TRY(infer_node(context, step->node));
    for (uint32_t i = 0; i < step->absorbed_count; i++)
        TN_TRY(infer_node(context, step->absorbed[i]));
    return TN_OK;
}

/* What a step computed of values that decide shapes, once the host has them as they are. */
static tn_status note_values(tn_context *context, const tn_program_step *step) {
    const bool *is_run_value = context->engine->plan.is_run_value;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t number = step->outputs[i];
        if (number == TN_NO_VALUE) continue;
        const tn_program_value *value = &context->engine->program->values[number];
        const tn_tensor *made = &context->dynamic->tensors[number].tensor;
        const tn_inference *inference = &context->shapes.inference;
        if (!is_run_value[value->tensor] || value->space != TN_SPACE_HOST ||
            made->format != TN_LINEAR ||
            made->type != inference->tensors[value->tensor].storage.tensor.type)
            continue;
        tn_shape shape;
        TN_TRY(tn_dynamic_arrive(context));
        TN_TRY(tn_shape_set(&shape, made->rank, made->shape));
        TN_TRY(tn_inference_set(&context->shapes.inference, value->tensor, &shape, made->data));
    }
    return TN_OK;
}

/* The true shape of an output that this run sized, and its elements where they decide shapes. */
static tn_status note_size(tn_context *context, uint32_t value) {
    tn_tensor_storage *storage = &context->dynamic->tensors[value];
    const tn_tensor bound = storage->tensor;
    tn_shape shape;
    if (bound.shape != storage->shape.extents)
        return tn_fail(TN_ERROR_PLUGIN, "the pointer to the shape of output '%s' was replaced",
                       bound.name);
    TN_TRY(tn_shape_set(&shape, bound.rank, bound.shape));
    TN_TRY(tn_tensor_init(storage, bound.type, bound.format, &shape));
    storage->tensor.name = bound.name;
    storage->tensor.data = bound.data;
    storage->tensor.quantization = bound.quantization;
    storage->tensor.heap = bound.heap;
    if (storage->tensor.bytes > bound.bytes)
        return tn_fail(TN_ERROR_PLUGIN,
                       "output '%s' became larger (%llu bytes) than the shape rule's bound (%llu)",
                       bound.name, (unsigned long long)storage->tensor.bytes,
                       (unsigned long long)bound.bytes);
    const tn_program_value *made = &context->engine->program->values[value];
    const bool is_needed =
        made->space == TN_SPACE_HOST && context->engine->plan.is_host_tensor[made->tensor];
    return tn_inference_set(&context->shapes.inference, made->tensor, &shape,
                            is_needed ? bound.data : NULL);
}

static tn_status note_sizes(tn_context *context, const tn_program_step *step) {
    const tn_graph_node *node = &context->engine->graph->nodes[step->node];
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t value = step->outputs[i];
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        tn_status status = TN_OK;
        if (value == TN_NO_VALUE) continue;
        if (context->dynamic->values[value].kind)
            status = tn_dynamic_close_items(context, value);
        else if (port && (port->flags & TN_PORT_SIZED_BY_RUN))
            status = tn_dynamic_is_counted(context, value) ? tn_dynamic_check_count(context, value)
                                                           : note_size(context, value);
        if (status != TN_OK) return tn_error_in(status, .node = node->name);
    }
    return TN_OK;
}

/* Where ranks were guesses when the kernel was prepared, whether the run found the same ones. */
static tn_status check_ranks(const tn_engine_step *step, const tn_call *call) {
    const uint32_t count = call->input_count + call->output_count;
    for (uint32_t i = 0; step->ranks && i < count; i++) {
        const tn_tensor *tensor =
            i < call->input_count ? call->inputs[i] : call->outputs[i - call->input_count];
        if (tensor && tensor->rank != step->ranks[i])
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "'%s' has rank %" PRIu32 " in this run, the kernel was prepared for %u",
                           tensor->name, tensor->rank, step->ranks[i]);
    }
    return TN_OK;
}

static tn_status reshape_opened(const tn_context *context, uint32_t step, tn_open_kernel *kernel) {
    kernel->call.workspace = NULL;
    TN_TRY(check_ranks(&context->engine->steps[step], &kernel->call));
    if (!context->engine->steps[step].is_isolated) return tn_open_kernel_reshape(kernel);
    kernel->call.workspace_bytes = 0;
    TN_TRY(tn_isolated_call_define(&kernel->call));
    return tn_call_invoke(&kernel->call, tn_isolated_reshape, "reshape");
}

static tn_status run_isolated(tn_open_kernel *kernel) {
    if (kernel->call.workspace) TN_TRY(tn_isolated_call_define(&kernel->call));
    return tn_call_invoke(&kernel->call, tn_isolated_run, "run");
}

static tn_status run_opened(tn_context *context, uint32_t step, tn_open_kernel *kernel) {
    const tn_kernel *chosen = kernel->prepared->kernel;
    if (context->engine->steps[step].is_isolated) return run_isolated(kernel);
    if (!context->checked) return tn_open_kernel_run(kernel);
    return tn_checked_step(context, step, &kernel->call,
                           chosen ? chosen->run : kernel->call.op->reference);
}

/* A shape that a kernel for any shape does not take after all. */
static tn_status run_reference(tn_context *context, uint32_t step, const tn_open_kernel *kernel) {
    tn_call call = kernel->call;
    tn_call_scope scope = kernel->scope;
    tn_context_use_reference(&call, &scope);
    if (context->engine->steps[step].step->is_device)
        return tn_dynamic_run_on_host(context, step, &call);
    if (context->checked) return tn_checked_step(context, step, &call, call.op->reference);
    return tn_call_invoke(&call, call.op->reference, "the reference");
}

static tn_status run_step(tn_context *context, uint32_t index);

/* The reference, with true shapes. */
static tn_status run_refused(tn_context *context, uint32_t index, const tn_open_kernel *kernel) {
    const tn_program_step *step = &context->engine->program->steps[index];
    bool had_counts = false;
    TN_TRY(tn_dynamic_settle_inputs(context, step, &had_counts));
    if (had_counts) return run_step(context, index);
    tn_dynamic_withdraw_counts(context, step);
    context->dynamic->is_refused = true;
    return run_reference(context, index, kernel);
}

static bool has_reference(const tn_context *context, uint32_t index) {
    const tn_engine_step *step = &context->engine->steps[index];
    return step->is_open && !step->is_isolated &&
           context->engine->graph->nodes[step->step->node].entry->op->reference;
}

static tn_status call_kernel(tn_context *context, uint32_t step, tn_open_kernel *kernel) {
    size_t workspace = 0;
    tn_error_copy before;
    tn_error_save(&before);
    const tn_status reshaped = reshape_opened(context, step, kernel);
    tn_dynamic_open_outputs(context, step, kernel);
    if (reshaped == TN_ERROR_UNSUPPORTED && has_reference(context, step)) {
        tn_error_restore(&before);
        return run_refused(context, step, kernel);
    }
    TN_TRY(reshaped);
    if (kernel->call.workspace_bytes == 0) return run_opened(context, step, kernel);
    const uint32_t space = context->engine->program->steps[step].is_device;
    TN_TRY(tn_dynamic_take(context, space ? TN_SPACE_DEVICE : TN_SPACE_HOST,
                           (size_t)kernel->call.workspace_bytes, &workspace));
    kernel->call.workspace = context->dynamic->buffers[workspace].memory;
    const tn_status status = run_opened(context, step, kernel);
    tn_dynamic_give(context, workspace);
    return status;
}

static tn_status run_kernel(tn_context *context, uint32_t index) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_program_step *step = &context->engine->program->steps[index];
    tn_open_kernel *kernel = &context->kernels[index];
    hide_data(context, step);
    TN_TRY(make_values(context, index));
    TN_TRY(tn_dynamic_offer_counts(context, index));
    kernel->call.inputs = (const tn_tensor *const *)dynamic->step_inputs;
    kernel->call.outputs = dynamic->step_outputs;
    kernel->call.operands = (const tn_tensor *const *)dynamic->step_operands;
    if (step->is_device) kernel->call.stream = context->device.stream;
    TN_TRY(tn_dynamic_close_outputs(kernel, call_kernel(context, index, kernel)));
    if (step->is_device) TN_TRY(tn_dynamic_enqueued(context, index));
    return note_sizes(context, step);
}

static tn_status run_view(tn_context *context, const tn_program_step *step) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t value = step->outputs[i], alias = tn_graph_output_port(op, i)->alias;
        if (value == TN_NO_VALUE) continue;
        TN_TRY(tn_context_describe(context, value, &dynamic->tensors[value]));
        dynamic->tensors[value].tensor.data = dynamic->step_inputs[alias - 1]->data;
        dynamic->values[value].is_ready = true;
    }
    return TN_OK;
}

static tn_status run_reformat(tn_context *context, uint32_t index) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    TN_TRY(make_values(context, index));
    tn_call call = {.user = context->engine,
                    .inputs = (const tn_tensor *const *)dynamic->step_inputs,
                    .outputs = dynamic->step_outputs};
    return tn_execution_reformat(&call);
}

/* Whether the host's processor reads the data of a step's inputs. */
static bool is_on_host(const tn_program *program, const tn_program_step *step) {
    return step->kind == TN_STEP_REFORMAT ? !tn_execution_is_transfer(program, step)
                                          : step->kind == TN_STEP_KERNEL && !step->is_device;
}

static tn_status run_step(tn_context *context, uint32_t index) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_program *program = context->engine->program;
    const tn_program_step *step = &program->steps[index];
    TN_TRY(tn_dynamic_keep_counts(context, index));
    if (step->kind != TN_STEP_REFORMAT) TN_TRY(infer_nodes(context, step));
    if (step->is_host) return TN_OK;
    TN_TRY(read_values(context, step->inputs, step->input_count, dynamic->step_inputs));
    TN_TRY(read_values(context, step->operands, step->operand_count, dynamic->step_operands));
    if (step->kind == TN_STEP_VIEW) return run_view(context, step);
    if (is_on_host(program, step)) TN_TRY(tn_dynamic_arrive(context));
    if (tn_execution_is_transfer(program, step)) return tn_dynamic_transfer(context, step);
    return step->kind == TN_STEP_REFORMAT ? run_reformat(context, index)
                                          : run_kernel(context, index);
}

tn_status tn_dynamic_run_steps(tn_context *context) {
    for (uint32_t s = 0; s < context->engine->program->step_count; s++) {
        const uint64_t before = context->profile.is_on ? tn_now_ns() : 0;
        TN_TRY(tn_run_check(context->run));
        context->dynamic->is_refused = false;
        TN_TRY(run_step(context, s));
        TN_TRY(note_values(context, &context->engine->program->steps[s]));
        if (context->profile.is_on && !context->engine->program->steps[s].is_host)
            tn_execution_note_time(context, s, tn_now_ns() - before);
        if (context->profile.is_on && context->dynamic->is_refused)
            tn_execution_note_reference(context, s);
        tn_dynamic_end_step(context, s);
    }
    return TN_OK;
}

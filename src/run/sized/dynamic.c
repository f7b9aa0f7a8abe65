/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run of networks in which some output is sized by its data: step by step, each step's shapes
 * inferred when those before it have run. Such networks are exempt from the promise that runs
 * allocate nothing; their steps are dynamic_steps.c's, their memory dynamic_memory.c's, and what is
 * different on a device dynamic_device.c's.
 */
#include "run/sized/dynamic.h"
#include "base/status.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * life */

static void count_ports(const tn_program *program, uint32_t *inputs, uint32_t *outputs,
                        uint32_t *operands) {
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->input_count > *inputs) *inputs = step->input_count;
        if (step->output_count > *outputs) *outputs = step->output_count;
        if (step->operand_count > *operands) *operands = step->operand_count;
    }
}

tn_status tn_dynamic_create(tn_context *context) {
    const tn_program *program = context->engine->program;
    const tn_allocator *allocator = &context->allocator;
    uint32_t inputs = 1, outputs = 1, operands = 1;
    count_ports(program, &inputs, &outputs, &operands);
    struct tn_dynamic_run *dynamic = tn_allocate_zero(allocator, 1, sizeof(*dynamic));
    if (!dynamic) return tn_fail_memory("a context");
    context->dynamic = dynamic;
    dynamic->tensors =
        tn_allocate_zero(allocator, program->value_count + 1u, sizeof(*dynamic->tensors));
    dynamic->values =
        tn_allocate_zero(allocator, program->value_count + 1u, sizeof(*dynamic->values));
    dynamic->outputs = tn_allocate_zero(allocator, context->engine->graph->output_count + 1,
                                        sizeof(*dynamic->outputs));
    dynamic->step_inputs = tn_allocate_zero(allocator, inputs, sizeof(*dynamic->step_inputs));
    dynamic->step_outputs = tn_allocate_zero(allocator, outputs, sizeof(*dynamic->step_outputs));
    dynamic->step_operands = tn_allocate_zero(allocator, operands, sizeof(*dynamic->step_operands));
    dynamic->hidden = tn_allocate_zero(allocator, inputs, sizeof(*dynamic->hidden));
    dynamic->mirrors =
        tn_allocate_zero(allocator, (size_t)inputs + outputs, sizeof(*dynamic->mirrors));
    dynamic->inputs = tn_allocate_zero(allocator, context->engine->graph->input_count + 1,
                                       sizeof(*dynamic->inputs));
    dynamic->source.states = tn_allocate_zero(allocator, outputs, sizeof(*dynamic->source.states));
    if (!dynamic->tensors || !dynamic->values || !dynamic->mirrors || !dynamic->outputs ||
        !dynamic->inputs || !dynamic->source.states || !dynamic->step_inputs ||
        !dynamic->step_outputs || !dynamic->step_operands || !dynamic->hidden)
        return tn_fail_memory("a context");
    tn_dynamic_find_lifetimes(context);
    tn_dynamic_find_kinds(context);
    return TN_OK;
}

void tn_dynamic_destroy(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_allocator *allocator = &context->allocator;
    if (!dynamic) return;
    tn_dynamic_free(context);
    tn_dynamic_free_items(context);
    tn_deallocate(allocator, dynamic->tensors);
    tn_deallocate(allocator, dynamic->values);
    tn_deallocate(allocator, dynamic->outputs);
    tn_deallocate(allocator, (void *)dynamic->step_inputs);
    tn_deallocate(allocator, (void *)dynamic->step_outputs);
    tn_deallocate(allocator, (void *)dynamic->step_operands);
    tn_deallocate(allocator, dynamic->hidden);
    tn_deallocate(allocator, dynamic->mirrors);
    tn_deallocate(allocator, dynamic->source.states);
    tn_deallocate(allocator, dynamic->inputs);
    tn_deallocate(allocator, dynamic);
}

/* ----------------------------------------------------------------------------------------------
 * run */

/* Before any output is written: whether it fits. */
static tn_status check_output(tn_context *context, uint32_t index) {
    const tn_engine *engine = context->engine;
    const tn_output_binding *binding = &context->ports.outputs[index];
    const uint32_t number = engine->program->output_values[index];
    tn_tensor *value;
    if (tn_dynamic_is_counted(context, number)) TN_TRY(tn_dynamic_settle(context, number));
    TN_TRY(tn_dynamic_read_value(context, number, &value));
    if (value->kind) return TN_OK;
    TN_TRY(tn_output_ask(context, index, value->bytes));
    if (!binding->data || binding->bytes >= value->bytes) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT, "output '%s' has %llu bytes; %llu are bound",
                   engine->outputs[index].name, (unsigned long long)value->bytes,
                   (unsigned long long)binding->bytes);
}

static tn_status hand_out_one(tn_context *context, uint32_t index) {
    const tn_engine *engine = context->engine;
    tn_output_binding *binding = &context->ports.outputs[index];
    tn_tensor_storage *output = &context->dynamic->outputs[index];
    const uint32_t number = engine->program->output_values[index];
    tn_tensor *value;
    tn_shape shape;
    TN_TRY(tn_dynamic_read_value(context, number, &value));
    if (value->kind) {
        tn_items_describe(output, value, value->rank, value->shape);
        output->tensor.name = engine->outputs[index].name;
        output->tensor.data = value->data;
        return TN_OK;
    }
    const bool is_delivered = context->dynamic->values[number].is_delivered;
    binding->is_sent = binding->is_device && !is_delivered;
    const bool is_own = !binding->data || binding->is_sent;
    if (!is_delivered) TN_TRY(tn_dynamic_arrive(context));
    if (is_own) TN_TRY(tn_bindings_own_output(context, index, (size_t)value->bytes));
    TN_TRY(tn_shape_set(&shape, value->rank, value->shape));
    TN_TRY(tn_tensor_init(output, value->type, TN_LINEAR, &shape));
    output->tensor.name = engine->outputs[index].name;
    output->tensor.heap = value->heap;
    output->tensor.data = binding->data ? binding->data : binding->own;
    if (value->bytes && !is_delivered)
        memcpy(is_own ? binding->own : output->tensor.data, value->data, (size_t)value->bytes);
    return TN_OK;
}

static void start_run(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    dynamic->has_outputs = dynamic->is_arriving = false;
    tn_dynamic_clear_items(context);
    for (size_t i = 0; i < dynamic->buffer_count; i++)
        dynamic->buffers[i].is_used = false;
    for (uint32_t v = 0; v < context->engine->program->value_count; v++)
        dynamic->values[v].counted = (tn_counted){0};
    for (uint32_t v = 0; v < context->engine->program->value_count; v++)
        dynamic->values[v].is_ready = dynamic->values[v].has_buffer =
            dynamic->values[v].is_delivered = false;
}

tn_status tn_dynamic_run(tn_context *context) {
    uint32_t profile = 0;
    TN_TRY(tn_dynamic_check_inputs(context));
    start_run(context);
    tn_output_begin(context);
    TN_TRY(tn_reshape_gather(context));
    TN_TRY(tn_profiles_choose(context, &profile)); /* values may have left it */
    TN_TRY(tn_bindings_apply_inputs(context));
    tn_bindings_stage_inputs(context);
    TN_TRY(
        tn_inference_run(&context->shapes.inference, context->shapes.now, context->shapes.values));
    TN_TRY(tn_dynamic_take_inputs(context));
    TN_TRY(tn_dynamic_run_steps(context));
    for (uint32_t i = 0; i < context->engine->graph->output_count; i++)
        TN_TRY(check_output(context, i));
    for (uint32_t i = 0; i < context->engine->graph->output_count; i++)
        TN_TRY(hand_out_one(context, i));
    context->dynamic->has_outputs = true;
    return TN_OK;
}

const tn_tensor *tn_dynamic_output(const tn_context *context, uint32_t output) {
    return context->dynamic->has_outputs ? &context->dynamic->outputs[output].tensor : NULL;
}

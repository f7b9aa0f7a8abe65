/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program says of a context's inputs and outputs, found once when the context is made:
 * which inputs anybody reads, which outputs a device writes, which shapes are known without a call.
 * The callers' memory is context_bind.c's.
 */
#include "run/context_private.h"

/* Whose data is read by a step that runs, or handed out. */
static void note_needed(tn_context *context, uint32_t value, bool is_transfer) {
    const tn_graph *graph = context->engine->graph;
    if (value == TN_NO_VALUE) return;
    const tn_tensor_id tensor = context->engine->program->values[value].tensor;
    const bool is_host = context->engine->program->values[value].space == TN_SPACE_HOST;
    for (size_t i = 0; graph->tensors[tensor].is_input && i < graph->input_count; i++) {
        if (graph->inputs[i] != tensor || graph->tensors[tensor].kind) continue;
        context->ports.inputs[i].is_needed = true;
        context->ports.inputs[i].is_read_by_host |= is_host && !is_transfer;
    }
}

static bool is_shape_only(const tn_engine *engine, const tn_program_step *step, uint32_t input) {
    if (step->kind == TN_STEP_REFORMAT) return false;
    const tn_operator *op = engine->graph->nodes[step->node].entry->op;
    const tn_port *port = tn_graph_input_port(op, input);
    return port && (port->flags & TN_PORT_SHAPE_ONLY);
}

/* Outputs that come from a device, each in a step of its own. */
static void find_device_outputs(tn_context *context) {
    const tn_program *program = context->engine->program;
    for (uint32_t s = 0; s < program->step_count; s++)
        for (size_t i = 0; i < context->engine->graph->output_count; i++)
            if (tn_execution_is_transfer(program, &program->steps[s]) &&
                program->steps[s].outputs[0] == program->output_values[i])
                context->ports.outputs[i].is_from_device = true;
}

static void find_needed(tn_context *context) {
    const tn_engine *engine = context->engine;
    const tn_program *program = engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        for (uint32_t i = 0; i < step->input_count && !step->is_host; i++) {
            if (!is_shape_only(engine, step, i))
                note_needed(context, step->inputs[i], tn_execution_is_transfer(program, step));
        }
        for (uint32_t i = 0; i < step->operand_count && !step->is_host; i++)
            note_needed(context, step->operands[i], false);
    }
    for (size_t i = 0; i < engine->graph->output_count; i++)
        note_needed(context, program->output_values[i], false);
    for (size_t i = 0; i < engine->graph->input_count; i++)
        context->ports.inputs[i].is_needed |= engine->plan.is_value_input[i];
}

/* Whether all profiles have one shape of an input, the same one. */
static bool is_fixed_input(const tn_engine *engine, size_t input) {
    const tn_plan_profile *first = &engine->contents.profiles[input];
    if (!tn_profile_is_fixed(first)) return false;
    for (uint32_t p = 1; p < engine->profile_count; p++) {
        const tn_plan_profile *other = &engine->profile_engines[p]->contents.profiles[input];
        if (!tn_profile_is_fixed(other) || !tn_shape_equal(&first->minimum, &other->minimum))
            return false;
    }
    return true;
}

/* Inputs whose shape is fixed need no call. */
static void set_fixed_shapes(tn_context *context) {
    const tn_graph *graph = context->engine->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        bool is_fixed = tensor->has_shape;
        if (tensor->kind) { /* it has none: that of a scalar stands for it */
            context->ports.inputs[i].has_shape = true;
            continue;
        }
        for (uint32_t axis = 0; is_fixed && axis < tensor->shape.rank; axis++)
            is_fixed = tensor->shape.extents[axis] >= 0;
        if (is_fixed)
            context->ports.inputs[i].shape = tensor->shape;
        else if (is_fixed_input(context->engine, i)) {
            context->ports.inputs[i].shape = context->engine->contents.profiles[i].minimum;
            is_fixed = true;
        }
        context->ports.inputs[i].has_shape = is_fixed;
    }
}

static bool is_sized(const tn_engine *engine, const tn_program_step *step) {
    const tn_operator *op = engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] != TN_NO_VALUE &&
            (tn_graph_output_port(op, i)->flags & TN_PORT_SIZED_BY_RUN))
            return true;
    return false;
}

/* The first node whose work in a run is the processor's: its kernel, or the size of its output. */
static uint32_t find_host_node(const tn_engine *engine) {
    const tn_program *program = engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind == TN_STEP_KERNEL && !step->is_host &&
            (!step->is_device || is_sized(engine, step)))
            return step->node;
    }
    return TN_NO_NODE;
}

void tn_context_find_ports(tn_context *context) {
    context->ports.host_node = find_host_node(context->engine);
    find_needed(context);
    find_device_outputs(context);
    set_fixed_shapes(context);
}

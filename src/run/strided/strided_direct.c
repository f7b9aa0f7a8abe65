/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that lie in the caller's memory as their first kernel reads them, like channels last: the
 * conversion that a packed input needs is left out, and its result is the caller's memory. Only
 * where nothing else reads the input, and nothing but that kernel's reading happens to the result.
 */
#include "run/context_private.h"

/* The only step that reads a value; UINT32_MAX: none, or more than one. */
static uint32_t only_reader(const tn_engine *engine, uint32_t value) {
    const tn_program *program = engine->program;
    uint32_t found = UINT32_MAX;
    if (tn_program_has_value(program->output_values, (uint32_t)engine->graph->output_count, value))
        return UINT32_MAX;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (!tn_program_has_value(step->inputs, step->input_count, value) &&
            !tn_program_has_value(step->operands, step->operand_count, value))
            continue;
        if (found != UINT32_MAX) return UINT32_MAX;
        found = s;
    }
    return found;
}

static uint32_t result_of(const tn_context *context, uint32_t input) {
    return context->engine->program->steps[context->ports.inputs[input].strided.reformat - 1]
        .outputs[0];
}

void tn_strided_find_reformat(tn_context *context, uint32_t input) {
    const tn_program *program = context->engine->program;
    const uint32_t value = program->input_values[input];
    tn_strided_binding *strided = &context->ports.inputs[input].strided;
    strided->reformat = 0;
    if (value == TN_NO_VALUE) return;
    const uint32_t step = only_reader(context->engine, value);
    if (step == UINT32_MAX || program->steps[step].kind != TN_STEP_REFORMAT) return;
    const tn_program_value *to = &program->values[program->steps[step].outputs[0]];
    if (tn_program_value_is_alike(&program->values[value], to) && to->space == TN_SPACE_HOST &&
        tn_format_block(to->format) == 0)
        strided->reformat = step + 1;
}

static bool has_strides_of(const tn_strided_binding *strided, const tn_shape *shape,
                           tn_format format) {
    int64_t strides[TN_MAX_RANK];
    if (tn_format_strides(format, shape, strides) != TN_OK) return false;
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        if (shape->extents[axis] != 1 && strided->strides[axis] != strides[axis]) return false;
    return true;
}

bool tn_strided_is_direct(const tn_context *context, uint32_t input) {
    const tn_input_binding *binding = &context->ports.inputs[input];
    const tn_strided_binding *strided = &binding->strided;
    if (strided->reformat == 0 || strided->is_never_direct || ((uintptr_t)strided->data & 63) != 0)
        return false;
    if (context->device.stream || context->dynamic || context->isolation || context->checked ||
        binding->count || context->engine->plan.is_value_input[input])
        return false;
    return has_strides_of(strided, &binding->shape,
                          context->engine->program->values[result_of(context, input)].format);
}

/* The item of the run that converts the input; UINT32_MAX: none. */
static uint32_t item_of(const tn_context *context, uint32_t input) {
    const tn_shape_state *state = context->shapes.current;
    for (uint32_t i = 0; i < state->item_count; i++)
        if (state->item_steps[i] + 1 == context->ports.inputs[input].strided.reformat) return i;
    return UINT32_MAX;
}

/* Whether the result has memory of its own alone, which nothing is written to in place. */
static bool is_alone(const tn_context *context, uint32_t value) {
    const tn_shape_state *state = context->shapes.current;
    if (state->locations[value].kind != TN_LOCATION_ARENA || state->locations[value].root != value)
        return false;
    for (uint32_t v = 0; v < context->engine->program->value_count; v++)
        if (v != value && state->locations[v].root == value) return false;
    return true;
}

static tn_status settle(tn_context *context, uint32_t input) {
    tn_strided_binding *strided = &context->ports.inputs[input].strided;
    strided->is_direct = false;
    strided->is_never_direct = true;
    return tn_strided_gather_copy(context, input);
}

tn_status tn_strided_settle_all(tn_context *context) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++)
        if (context->ports.inputs[i].strided.is_bound && context->ports.inputs[i].strided.is_direct)
            TN_TRY(settle(context, i));
    return TN_OK;
}

tn_status tn_strided_settle(tn_context *context) {
    tn_shape_state *state = context->shapes.current;
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_strided_binding *strided = &context->ports.inputs[i].strided;
        const uint32_t item = strided->reformat > 0 ? item_of(context, i) : UINT32_MAX;
        if (item != UINT32_MAX && state->items[item].run == tn_execution_do_nothing) {
            state->items[item].run = tn_execution_reformat;
            state->is_applied = false; /* all pointers are set anew */
        }
        if (!strided->is_bound || !strided->is_direct) continue;
        if (item == UINT32_MAX || state->items[item].run != tn_execution_reformat ||
            !is_alone(context, result_of(context, i)))
            TN_TRY(settle(context, i));
    }
    return TN_OK;
}

void tn_strided_bypass(tn_context *context) {
    tn_shape_state *state = context->shapes.current;
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_strided_binding *strided = &context->ports.inputs[i].strided;
        if (!strided->is_bound || !strided->is_direct) continue;
        state->tensors[result_of(context, i)].tensor.data = strided->data;
        state->items[item_of(context, i)].run = tn_execution_do_nothing;
    }
}

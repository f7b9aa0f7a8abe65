/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context keeps for one set of shapes: descriptors of all values, a call for each step that
 * runs, in the order of the walk. Where the values lie is shape_state_places.c.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <string.h>

void tn_shape_state_destroy(tn_shape_state *state) {
    if (state) tn_arena_destroy(state->arena);
}

static tn_status copy_key(tn_context *context, tn_shape_state *state, const tn_shape *shapes,
                          const void *const *values) {
    const uint32_t count = tn_engine_input_count(context->engine);
    state->shapes = tn_arena_copy(state->arena, shapes, count * sizeof(*shapes));
    state->values = tn_arena_allocate(state->arena, count + 1u, sizeof(*state->values));
    state->value_bytes = tn_arena_allocate(state->arena, count + 1u, sizeof(*state->value_bytes));
    if (!state->shapes || !state->values || !state->value_bytes)
        return tn_fail_memory("a set of shapes");
    for (uint32_t i = 0; i < count; i++) {
        if (!values[i]) continue;
        size_t elements;
        TN_TRY(tn_shape_count(&shapes[i], &elements));
        state->value_bytes[i] = elements * tn_type_bytes(context->engine->inputs[i].type);
        state->values[i] = tn_arena_copy(state->arena, values[i], state->value_bytes[i]);
        if (!state->values[i]) return tn_fail_memory("a set of shapes");
    }
    return TN_OK;
}

/* A value's descriptor; constants have their data, all else is set later. */
static tn_status describe(tn_context *context, tn_tensor_storage *storage, uint32_t value) {
    const tn_program_value *item = &context->engine->program->values[value];
    const tn_inferred_tensor *inferred = &context->inference.tensors[item->tensor];
    const tn_graph_tensor *tensor = &context->engine->graph->tensors[item->tensor];
    if (!inferred->is_known)
        return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' has no shape", tensor->name);
    TN_TRY(tn_tensor_init(storage, inferred->storage.tensor.type, item->format,
                          &inferred->storage.shape));
    storage->tensor.name = tensor->name;
    storage->tensor.quantization = tensor->quantization;
    return TN_OK;
}

/* Values that some step or output uses; the others' tensors may not even be known. */
static tn_status describe_used(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    bool *is_used = tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*is_used));
    if (!is_used) return tn_fail_memory("a set of shapes");
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        const uint32_t *const lists[3] = {step->inputs, step->outputs, step->operands};
        const uint32_t counts[3] = {step->input_count, step->output_count, step->operand_count};
        for (int list = 0; list < 3; list++) {
            for (uint32_t i = 0; i < counts[list]; i++) {
                if (lists[list][i] != TN_NO_VALUE) is_used[lists[list][i]] = true;
            }
        }
    }
    for (size_t i = 0; i < context->engine->graph->output_count; i++)
        is_used[program->output_values[i]] = true;
    for (uint32_t v = 0; v < program->value_count; v++) {
        if (is_used[v]) TN_TRY(describe(context, &state->tensors[v], v));
    }
    return TN_OK;
}

static tn_tensor *value_tensor(tn_shape_state *state, uint32_t value) {
    return value == TN_NO_VALUE ? NULL : &state->tensors[value].tensor;
}

/* A port of which only the shape is read gets a descriptor without data. */
static tn_status hide_data(const tn_context *context, tn_shape_state *state,
                           const tn_program_step *step, const tn_tensor **inputs) {
    if (step->kind != TN_STEP_KERNEL) return TN_OK;
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const tn_port *port = tn_graph_input_port(op, i);
        if (!inputs[i] || !port || !(port->flags & TN_PORT_SHAPE_ONLY)) continue;
        tn_tensor *copy = tn_arena_copy(state->arena, inputs[i], sizeof(*copy));
        if (!copy) return tn_fail_memory("a set of shapes");
        copy->data = NULL;
        inputs[i] = copy;
    }
    return TN_OK;
}

static tn_status list_tensors(tn_shape_state *state, const uint32_t *values, uint32_t count,
                              tn_tensor ***out_tensors) {
    tn_tensor **tensors = tn_arena_allocate(state->arena, count + 1u, sizeof(*tensors));
    if (!tensors) return tn_fail_memory("a set of shapes");
    for (uint32_t i = 0; i < count; i++)
        tensors[i] = value_tensor(state, values[i]);
    *out_tensors = tensors;
    return TN_OK;
}

static tn_status make_call(tn_context *context, tn_shape_state *state, uint32_t index,
                           tn_walk_item *item) {
    const tn_program_step *step = &context->engine->program->steps[index];
    tn_open_kernel *kernel = &context->kernels[index];
    tn_call *call = tn_arena_allocate(state->arena, 1, sizeof(*call));
    tn_tensor **inputs, **outputs, **operands;
    if (!call) return tn_fail_memory("a set of shapes");
    TN_TRY(list_tensors(state, step->inputs, step->input_count, &inputs));
    TN_TRY(list_tensors(state, step->outputs, step->output_count, &outputs));
    TN_TRY(list_tensors(state, step->operands, step->operand_count, &operands));
    TN_TRY(hide_data(context, state, step, (const tn_tensor **)inputs));
    if (step->kind == TN_STEP_REFORMAT) {
        *call = (tn_call){.size = sizeof(*call),
                          .input_count = 1,
                          .output_count = 1,
                          .threads = context->engine->pool.threads,
                          .user = context->engine};
        item->run = tn_walk_reformat;
    } else {
        const tn_kernel *chosen = kernel->prepared->kernel;
        *call = kernel->call;
        call->host_private = &kernel->scope;
        item->run = chosen ? chosen->run : call->op->reference;
    }
    call->inputs = (const tn_tensor *const *)inputs;
    call->outputs = outputs;
    call->operands = (const tn_tensor *const *)operands;
    item->call = call;
    return TN_OK;
}

static bool runs(const tn_program_step *step) {
    return step->kind != TN_STEP_VIEW && !step->is_host;
}

static tn_status make_walk(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (!runs(&program->steps[s])) continue;
        TN_TRY(make_call(context, state, s, &state->walk[state->walk_count]));
        state->walk_steps[state->walk_count++] = s;
    }
    return TN_OK;
}

tn_status tn_shape_state_reshape(tn_context *context, tn_shape_state *state) {
    for (uint32_t i = 0; i < state->walk_count; i++) {
        tn_call *call = state->walk[i].call;
        const tn_open_kernel *kernel = &context->kernels[state->walk_steps[i]];
        if (!kernel->is_open || !kernel->prepared->kernel || !kernel->prepared->kernel->reshape)
            continue;
        const uint64_t before = call->workspace_bytes;
        TN_TRY(tn_call_invoke(call, kernel->prepared->kernel->reshape, "reshape"));
        if (state->memory_bytes && call->workspace_bytes > before)
            return tn_error_at(
                tn_fail(
                    TN_ERROR_PLUGIN,
                    "reshape answered %llu bytes of workspace, and %llu for the same shapes before",
                    (unsigned long long)call->workspace_bytes, (unsigned long long)before),
                "node '%s'", call->node);
    }
    return TN_OK;
}

/* Descriptors of the outputs as the caller sees them. */
static tn_status describe_outputs(tn_context *context, tn_shape_state *state) {
    const tn_engine *engine = context->engine;
    for (size_t i = 0; i < engine->graph->output_count; i++) {
        const tn_tensor_storage *value = &state->tensors[engine->program->output_values[i]];
        TN_TRY(tn_tensor_init(&state->outputs[i], value->tensor.type, TN_LINEAR, &value->shape));
        state->outputs[i].tensor.name = engine->outputs[i].name;
    }
    return TN_OK;
}

static tn_status fill_state(tn_context *context, tn_shape_state *state, const tn_shape *shapes,
                            const void *const *values) {
    const tn_program *program = context->engine->program;
    const size_t outputs = context->engine->graph->output_count;
    TN_TRY(copy_key(context, state, shapes, values));
    state->tensors =
        tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->tensors));
    state->places =
        tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->places));
    state->walk = tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->walk));
    state->walk_steps =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->walk_steps));
    state->workspaces =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->workspaces));
    state->outputs = tn_arena_allocate(state->arena, outputs + 1, sizeof(*state->outputs));
    state->copies = tn_arena_allocate(state->arena, outputs + 1, sizeof(*state->copies));
    if (!state->tensors || !state->places || !state->walk || !state->walk_steps ||
        !state->workspaces || !state->outputs || !state->copies)
        return tn_fail_memory("a set of shapes");
    TN_TRY(describe_used(context, state));
    TN_TRY(describe_outputs(context, state));
    TN_TRY(make_walk(context, state));
    TN_TRY(tn_shape_state_place(context, state));
    return TN_OK;
}

tn_status tn_shape_state_create(tn_context *context, const tn_shape *shapes,
                                const void *const *values, tn_shape_state **out_state) {
    tn_arena *arena;
    TN_TRY(tn_arena_create(&context->allocator, &arena));
    tn_shape_state *state = tn_arena_allocate(arena, 1, sizeof(*state));
    tn_status status = state ? TN_OK : tn_fail_memory("a set of shapes");
    if (state) {
        state->arena = arena;
        status = fill_state(context, state, shapes, values);
    }
    if (status != TN_OK) {
        tn_arena_destroy(arena);
        return status;
    }
    *out_state = state;
    return TN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context keeps for one set of shapes: descriptors of all values, a call for each step that
 * runs, in the order of execution. Where the values lie is shape_state_locations.c.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <stdatomic.h>
#include <string.h>

void tn_shape_state_destroy(const tn_context *context, tn_shape_state *state) {
    if (!state) return;
    tn_execution_drop_graphs(context, state);
    tn_arena_destroy(state->arena);
}

void tn_shape_state_forget(tn_shape_state *state) {
    for (uint32_t i = 0; i < state->item_count; i++)
        if (state->items[i].run == tn_isolated_run)
            tn_isolated_call_forget(state->items[i].call->user);
}

/* Zeroed memory of the state, aligned as tensors' data is. */
static void *allocate_data(tn_shape_state *state, size_t bytes) {
    size_t padded_bytes;
    if (!tn_add_size(bytes, 64, &padded_bytes)) return NULL;
    char *data = tn_arena_allocate(state->arena, padded_bytes, 1);
    return data ? data + (64 - ((uintptr_t)data & 63)) : NULL;
}

void *tn_shape_state_copy(tn_shape_state *state, const void *data, size_t bytes) {
    void *copy = allocate_data(state, bytes);
    if (copy && bytes > 0) memcpy(copy, data, bytes);
    return copy;
}

static tn_status copy_key(tn_context *context, tn_shape_state *state) {
    const uint32_t count = tn_context_input_count(context);
    state->shapes =
        tn_arena_copy(state->arena, context->shapes.now, count * sizeof(*context->shapes.now));
    state->values = tn_arena_allocate(state->arena, count + 1u, sizeof(*state->values));
    state->value_bytes = tn_arena_allocate(state->arena, count + 1u, sizeof(*state->value_bytes));
    if (!state->shapes || !state->values || !state->value_bytes)
        return tn_fail_memory("a set of shapes");
    for (uint32_t i = 0; i < count; i++) {
        if (!context->shapes.values[i]) continue;
        TN_TRY(tn_format_bytes(TN_LINEAR, context->engine->inputs[i].type, &state->shapes[i],
                               &state->value_bytes[i]));
        state->values[i] =
            tn_shape_state_copy(state, context->shapes.values[i], state->value_bytes[i]);
        if (!state->values[i]) return tn_fail_memory("a set of shapes");
    }
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
        if (is_used[v]) TN_TRY(tn_context_describe(context, v, &state->tensors[v]));
    }
    return TN_OK;
}

static tn_tensor *value_tensor(tn_shape_state *state, uint32_t value) {
    return value == TN_NO_VALUE ? NULL : &state->tensors[value].tensor;
}

/* A port of which only the shape is read gets a descriptor without data, in the tensor's own type.
 */
static tn_status hide_data(const tn_context *context, tn_shape_state *state,
                           const tn_program_step *step, const tn_tensor **inputs) {
    if (step->kind != TN_STEP_KERNEL) return TN_OK;
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const tn_port *port = tn_graph_input_port(op, i);
        if (!inputs[i] || !port || !(port->flags & TN_PORT_SHAPE_ONLY)) continue;
        tn_tensor *copy = tn_arena_copy(state->arena, inputs[i], sizeof(*copy));
        if (!copy) return tn_fail_memory("a set of shapes");
        tn_context_hide(context, step->inputs[i], copy);
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

static tn_status isolate_call(tn_context *context, tn_shape_state *state, uint32_t index,
                              tn_execution_item *item) {
    tn_isolated_call *isolated = tn_arena_allocate(state->arena, 1, sizeof(*isolated));
    if (!isolated) return tn_fail_memory("a set of shapes");
    tn_isolated_call_init(context->isolation, index, isolated, item->call);
    item->run = tn_isolated_run;
    return TN_OK;
}

static tn_status make_call(tn_context *context, tn_shape_state *state, uint32_t index,
                           tn_execution_item *item) {
    const tn_program_step *step = &context->engine->program->steps[index];
    tn_open_kernel *kernel = &context->kernels[index];
    tn_call *call = tn_arena_allocate(state->arena, 1, sizeof(*call));
    tn_tensor **inputs = NULL, **outputs = NULL, **operands = NULL;
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
        item->run = tn_execution_reformat;
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
    if (context->engine->steps[index].is_isolated) return isolate_call(context, state, index, item);
    if (step->kind != TN_STEP_REFORMAT) return TN_OK;
    const tn_program_value *values = context->engine->program->values;
    const uint32_t from = values[step->inputs[0]].space, to = values[step->outputs[0]].space;
    if (from != TN_SPACE_HOST || to != TN_SPACE_HOST)
        tn_execution_make_transfer(context, state, item, from, to,
                                   &state->workspace_bytes[state->item_count]);
    return TN_OK;
}

static bool runs(const tn_context *context, const tn_shape_state *state, uint32_t index) {
    const tn_program_step *step = &context->engine->program->steps[index];
    return step->kind != TN_STEP_VIEW && !step->is_host && !state->is_dropped[index];
}

static tn_status make_items(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (!runs(context, state, s)) continue;
        TN_TRY(make_call(context, state, s, &state->items[state->item_count]));
        state->item_steps[state->item_count++] = s;
    }
    return TN_OK;
}

/* Workspaces are planned once: what a kernel answers for the same shapes later must fit in. */
static tn_status reshape_item(const tn_shape_state *state, uint32_t item, tn_callback reshape) {
    tn_call *call = state->items[item].call;
    call->workspace_bytes = 0;
    TN_TRY(tn_call_invoke(call, reshape, "reshape"));
    const uint64_t answered = call->workspace_bytes, planned = state->workspace_bytes[item];
    if (!state->is_placed) {
        state->workspace_bytes[item] = answered;
        return TN_OK;
    }
    call->workspace_bytes = planned;
    if (answered <= planned) return TN_OK;
    return tn_error_in(tn_fail(TN_ERROR_PLUGIN,
                               "reshape answered %llu bytes of workspace, and %llu for the same "
                               "shapes before",
                               (unsigned long long)answered, (unsigned long long)planned),
                       .node = call->node);
}

/* A shape that a kernel for any shape does not take after all runs by the reference. */
static tn_status take_reference(tn_context *context, tn_shape_state *state, uint32_t item,
                                tn_status status, const tn_error_copy *before) {
    tn_call *call = state->items[item].call;
    if (status != TN_ERROR_UNSUPPORTED || state->is_placed ||
        !tn_context_has_reference(context, state->item_steps[item]))
        return status;
    tn_call_scope *scope = tn_arena_copy(state->arena, call->host_private, sizeof(*scope));
    if (!scope) return tn_fail_memory("a set of shapes");
    tn_error_restore(before);
    tn_context_use_reference(call, scope);
    state->items[item].run = call->op->reference;
    state->workspace_bytes[item] = 0;
    return TN_OK;
}

static tn_status reshape_kernel(tn_context *context, tn_shape_state *state, uint32_t item,
                                const tn_kernel *kernel) {
    tn_error_copy before;
    tn_error_save(&before);
    const tn_status status = reshape_item(state, item, kernel->reshape);
    return status == TN_OK ? TN_OK : take_reference(context, state, item, status, &before);
}

/* ----------------------------------------------------------------------------------------------
 * on all threads */

/* Kernels that use OpenMP are those of libraries that generate code for a shape, which takes 20 to
 * 400 us each. What fails there has its turn again on the calling thread, whose error is then the
 * run's. */
typedef struct reshape_job {
    const tn_context *context;
    tn_shape_state *state;
    atomic_uint next; /* twice through all items, see reshape_next */
} reshape_job;

static const tn_kernel *kernel_of(const tn_context *context, const tn_shape_state *state,
                                  uint32_t item) {
    const tn_open_kernel *opened = &context->kernels[state->item_steps[item]];
    if (state->items[item].run == tn_isolated_run || !opened->is_open) return NULL;
    const tn_kernel *kernel = opened->prepared->kernel;
    return kernel && kernel->reshape && !(state->items[item].call->flags & TN_CALL_REFERENCE)
               ? kernel
               : NULL;
}

static const tn_kernel *long_kernel_of(const reshape_job *job, uint32_t item) {
    const tn_kernel *kernel = kernel_of(job->context, job->state, item);
    return kernel && kernel->traits & TN_KERNEL_OPENMP ? kernel : NULL;
}

static void reshape_long(const reshape_job *job, uint32_t item, const tn_kernel *kernel) {
    tn_error_copy before;
    tn_error_save(&before);
    job->state->is_told[item] = reshape_item(job->state, item, kernel->reshape) == TN_OK;
    if (!job->state->is_told[item]) tn_error_restore(&before);
}

/* Each thread takes the next one when it has done one: first those with something to prepare, which
 * are weights and take ten times as long, so that no thread begins with such a one when the others
 * are about to end. */
static tn_status reshape_next(void *user, int64_t begin, int64_t end, uint32_t thread) {
    reshape_job *job = user;
    const uint32_t count = job->state->item_count;
    (void)begin, (void)end, (void)thread;
    for (;;) {
        const uint32_t at = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (at >= 2 * count) return TN_OK;
        const uint32_t item = at % count;
        const tn_kernel *kernel = long_kernel_of(job, item);
        if (kernel && (kernel->prepare != NULL) == (at < count)) reshape_long(job, item, kernel);
    }
}

static void reshape_together(const tn_context *context, tn_shape_state *state) {
    const tn_thread_pool *pool = &context->engine->pool;
    reshape_job job = {context, state, 0};
    uint32_t count = 0;
    memset(state->is_told, 0, state->item_count * sizeof(*state->is_told));
    if (pool->threads <= 1 || context->device.stream || context->checked) return;
    for (uint32_t i = 0; i < state->item_count; i++)
        count += long_kernel_of(&job, i) != NULL;
    if (count > 1) (void)pool->parallel_for(pool, pool->threads, 1, reshape_next, &job);
}

tn_status tn_shape_state_reshape(tn_context *context, tn_shape_state *state) {
    reshape_together(context, state);
    for (uint32_t i = 0; i < state->item_count; i++) {
        const tn_kernel *kernel = kernel_of(context, state, i);
        if (state->items[i].run == tn_isolated_run)
            TN_TRY(reshape_item(state, i, tn_isolated_reshape));
        else if (kernel && !state->is_told[i])
            TN_TRY(reshape_kernel(context, state, i, kernel));
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
        state->outputs[i].tensor.heap = value->tensor.heap;
    }
    return TN_OK;
}

static tn_status allocate_state(tn_context *context, tn_shape_state *state) {
    const tn_program *program = context->engine->program;
    const size_t outputs = context->engine->graph->output_count;
    state->tensors =
        tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->tensors));
    state->locations =
        tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->locations));
    state->last_read =
        tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->last_read));
    state->rows = tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->rows));
    state->is_dropped =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->is_dropped));
    state->updated = tn_arena_allocate(state->arena, outputs + 1, sizeof(*state->updated));
    state->items = tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->items));
    state->item_steps =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->item_steps));
    state->is_told =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->is_told));
    state->workspaces =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->workspaces));
    state->workspace_bytes =
        tn_arena_allocate(state->arena, program->step_count + 1u, sizeof(*state->workspace_bytes));
    state->patches =
        tn_arena_allocate(state->arena, program->value_count + 1u, sizeof(*state->patches));
    state->outputs = tn_arena_allocate(state->arena, outputs + 1, sizeof(*state->outputs));
    state->copies = tn_arena_allocate(state->arena, outputs + 1, sizeof(*state->copies));
    if (!state->tensors || !state->locations || !state->rows || !state->last_read ||
        !state->is_dropped || !state->updated || !state->items || !state->item_steps ||
        !state->is_told || !state->workspaces || !state->workspace_bytes || !state->patches ||
        !state->outputs || !state->copies)
        return tn_fail_memory("a set of shapes");
    return TN_OK;
}

static tn_status fill_state(tn_context *context, tn_shape_state *state) {
    TN_TRY(allocate_state(context, state));
    TN_TRY(copy_key(context, state));
    if (!state->is_unfused) TN_TRY(describe_used(context, state));
    if (!state->is_unfused) TN_TRY(describe_outputs(context, state));
    TN_TRY(tn_counted_find(context, state));
    if (state->is_unfused) return TN_OK;
    TN_TRY(tn_shape_state_place(context, state));
    TN_TRY(make_items(context, state));
    TN_TRY(tn_shape_state_reshape(context, state)); /* asks for the workspaces */
    TN_TRY(tn_shape_state_plan(context, state));
    TN_TRY(tn_execution_find_borders(context, state));
    return tn_execution_find_graphs(context, state);
}

tn_status tn_shape_state_create(tn_context *context, bool is_unfused, tn_shape_state **out_state) {
    tn_arena *arena;
    TN_TRY(tn_arena_create(&context->allocator, &arena));
    tn_shape_state *state = tn_arena_allocate(arena, 1, sizeof(*state));
    tn_status status = state ? TN_OK : tn_fail_memory("a set of shapes");
    if (state) {
        state->arena = arena;
        state->is_unfused = is_unfused;
        status = fill_state(context, state);
    }
    if (status != TN_OK) {
        if (state) tn_shape_state_forget(state);
        tn_arena_destroy(arena);
        return status;
    }
    *out_state = state;
    return TN_OK;
}

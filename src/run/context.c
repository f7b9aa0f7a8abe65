/* SPDX-License-Identifier: Apache-2.0 */
/* The context: creation, bindings, run, statistics. context_private.h says where the parts are. */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/context_private.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * creation */

static void *counted_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    tn_context *context = user;
    context->statistics.allocations++;
    return context->parent->allocate(context->parent->user, bytes, alignment);
}

static void counted_deallocate(void *user, void *memory) {
    const tn_context *context = user;
    context->parent->deallocate(context->parent->user, memory);
}

/* Whose data is read by a step that runs, or handed out. */
static void note_needed(tn_context *context, uint32_t value, bool is_transfer) {
    const tn_graph *graph = context->engine->graph;
    if (value == TN_NO_VALUE) return;
    const tn_tensor_id tensor = context->engine->program->values[value].tensor;
    const bool is_host = context->engine->program->values[value].space == TN_SPACE_HOST;
    for (size_t i = 0; graph->tensors[tensor].is_input && i < graph->input_count; i++) {
        if (graph->inputs[i] != tensor) continue;
        context->inputs[i].is_needed = true;
        context->inputs[i].is_read_by_host |= is_host && !is_transfer;
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
            if (tn_walk_is_transfer(program, &program->steps[s]) &&
                program->steps[s].outputs[0] == program->output_values[i])
                context->outputs[i].is_from_device = true;
}

static void find_needed(tn_context *context) {
    const tn_engine *engine = context->engine;
    const tn_program *program = engine->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        for (uint32_t i = 0; i < step->input_count && !step->is_host; i++) {
            if (!is_shape_only(engine, step, i))
                note_needed(context, step->inputs[i], tn_walk_is_transfer(program, step));
        }
        for (uint32_t i = 0; i < step->operand_count && !step->is_host; i++)
            note_needed(context, step->operands[i], false);
    }
    for (size_t i = 0; i < engine->graph->output_count; i++)
        note_needed(context, program->output_values[i], false);
    for (size_t i = 0; i < engine->graph->input_count; i++)
        context->inputs[i].is_needed |= engine->plan.is_value_input[i];
}

/* Inputs whose shape is fixed need no call. */
static void set_fixed_shapes(tn_context *context) {
    const tn_graph *graph = context->engine->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        const tn_plan_profile *profile = &context->engine->contents.profiles[i];
        bool is_fixed = tensor->has_shape;
        for (uint32_t axis = 0; is_fixed && axis < tensor->shape.rank; axis++)
            is_fixed = tensor->shape.extents[axis] >= 0;
        if (is_fixed)
            context->inputs[i].shape = tensor->shape;
        else if (!profile->is_free && tn_shape_equal(&profile->minimum, &profile->maximum)) {
            context->inputs[i].shape = profile->minimum;
            is_fixed = true;
        }
        context->inputs[i].has_shape = is_fixed;
    }
}

/* It is opened in the helper process; here is its template. */
static void describe_isolated(tn_open_kernel *kernel, const tn_prepared_kernel *prepared) {
    kernel->prepared = prepared;
    kernel->call = prepared->call;
    kernel->scope = prepared->scope;
    kernel->call.host_private = &kernel->scope;
}

static tn_status open_kernels(tn_context *context) {
    tn_engine *engine = context->engine;
    tn_status status = TN_OK;
    pthread_mutex_lock(&engine->opening);
    for (uint32_t i = 0; i < engine->program->step_count && status == TN_OK; i++) {
        if (engine->steps[i].step->is_device) context->kernels[i].stream = context->stream;
        if (engine->steps[i].is_isolated)
            describe_isolated(&context->kernels[i], &engine->steps[i].prepared);
        else if (engine->steps[i].prepared.is_prepared)
            status = tn_open_kernel_init(&context->kernels[i], &engine->steps[i].prepared);
    }
    pthread_mutex_unlock(&engine->opening);
    return status;
}

static void close_kernels(tn_context *context) {
    tn_engine *engine = context->engine;
    pthread_mutex_lock(&engine->opening);
    for (uint32_t i = 0; context->kernels && i < engine->program->step_count; i++)
        tn_open_kernel_deinit(&context->kernels[i]);
    pthread_mutex_unlock(&engine->opening);
}

static tn_status set_up(tn_context *context) {
    const tn_engine *engine = context->engine;
    const uint32_t steps = engine->program->step_count;
    context->kernels = tn_allocate_zero(&context->allocator, steps + 1u, sizeof(*context->kernels));
    context->inputs = tn_allocate_zero(&context->allocator, engine->graph->input_count + 1,
                                       sizeof(*context->inputs));
    context->outputs = tn_allocate_zero(&context->allocator, engine->graph->output_count + 1,
                                        sizeof(*context->outputs));
    context->shapes = tn_allocate_zero(&context->allocator, engine->graph->input_count + 1,
                                       sizeof(*context->shapes));
    context->values = tn_allocate_zero(&context->allocator, engine->graph->input_count + 1,
                                       sizeof(*context->values));
    context->profile = tn_allocate_zero(&context->allocator, steps + 1u, sizeof(*context->profile));
    context->profile_steps =
        tn_allocate_zero(&context->allocator, steps + 1u, sizeof(*context->profile_steps));
    if (!context->kernels || !context->inputs || !context->outputs || !context->shapes ||
        !context->values || !context->profile || !context->profile_steps)
        return tn_fail_memory("a context");
    find_needed(context);
    find_device_outputs(context);
    set_fixed_shapes(context);
    TN_TRY(tn_inference_init(&context->inference, engine->graph, &engine->plan));
    context->inference.allocator = &context->allocator; /* from here on it is counted */
    TN_TRY(tn_walk_open_device(context));
    TN_TRY(open_kernels(context));
    if (engine->is_isolated) TN_TRY(tn_isolation_create(context, &context->isolation));
    if (engine->is_checked) TN_TRY(tn_checked_context_create(context));
    return engine->plan.is_sized_by_run ? tn_dynamic_create(context) : TN_OK;
}

tn_status tn_context_create(tn_engine *engine, tn_context **out_context) {
    if (!engine || !out_context)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_create needs an engine and a place for the context");
    tn_context *context = tn_allocate_zero(engine->allocator, 1, sizeof(*context));
    if (!context) return tn_fail_memory("a context");
    context->engine = tn_engine_retain(engine);
    context->parent = engine->allocator;
    context->allocator =
        (tn_allocator){sizeof(tn_allocator), context, counted_allocate, counted_deallocate};
    context->statistics.size = sizeof(context->statistics);
    const tn_status status = set_up(context);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_context_destroy(context);
        tn_error_restore(&error);
        return status;
    }
    *out_context = context;
    return TN_OK;
}

void tn_context_destroy(tn_context *context) {
    if (!context) return;
    tn_engine *engine = context->engine;
    const tn_allocator *allocator = &context->allocator;
    (void)tn_walk_wait(context);
    for (int i = 0; i < TN_SHAPE_STATES; i++)
        tn_shape_state_destroy(context, context->states[i]);
    tn_dynamic_destroy(context);
    tn_checked_context_destroy(context);
    tn_walk_profile_close(context);
    close_kernels(context);
    for (size_t i = 0; context->inputs && i < engine->graph->input_count; i++) {
        tn_context_give_data(context, context->inputs[i].staging);
        tn_walk_host_deallocate(context, context->inputs[i].own);
    }
    for (size_t i = 0; context->outputs && i < engine->graph->output_count; i++)
        tn_walk_host_deallocate(context, context->outputs[i].own);
    tn_walk_close_device(context);
    tn_inference_deinit(&context->inference);
    tn_context_give_data(context, context->memory);
    tn_isolation_destroy(context->isolation);
    tn_deallocate(allocator, context->kernels);
    tn_deallocate(allocator, context->inputs);
    tn_deallocate(allocator, context->outputs);
    tn_deallocate(allocator, context->shapes);
    tn_deallocate(allocator, (void *)context->values);
    tn_deallocate(allocator, context->profile);
    tn_deallocate(allocator, context->profile_steps);
    tn_deallocate(context->parent, context);
    tn_engine_release(engine);
}

/* ----------------------------------------------------------------------------------------------
 * shapes and memory */

tn_status tn_context_take_data(tn_context *context, size_t bytes, const char *what,
                               void **out_memory) {
    if (context->isolation) return tn_isolation_allocate(context->isolation, bytes, out_memory);
    void *memory = tn_allocate_aligned(&context->allocator, bytes ? bytes : 64, 64);
    if (!memory) return tn_fail(TN_ERROR_MEMORY, "no memory for %zu bytes of %s", bytes, what);
    *out_memory = memory;
    return TN_OK;
}

void tn_context_give_data(tn_context *context, void *memory) {
    if (context->isolation)
        tn_isolation_free(context->isolation, memory);
    else
        tn_deallocate(&context->allocator, memory);
}

static tn_status check_index(const char *kind, uint32_t index, uint32_t count) {
    if (index < count) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT, "there is no %s %u: there are %u", kind, index, count);
}

tn_status tn_context_set_shape(tn_context *context, uint32_t input, uint32_t rank,
                               const int64_t *extents) {
    tn_shape shape;
    if (!context || (rank && !extents))
        return tn_fail(TN_ERROR_ARGUMENT, "tn_context_set_shape needs a context and extents");
    TN_TRY(check_index("input", input, tn_engine_input_count(context->engine)));
    tn_status status = tn_shape_set(&shape, rank, extents);
    if (status != TN_OK)
        return tn_error_at(status, "input '%s'", context->engine->inputs[input].name);
    TN_TRY(tn_reshape_check_shape(context, input, &shape));
    tn_input_binding *binding = &context->inputs[input];
    if (!binding->has_shape || !tn_shape_equal(&binding->shape, &shape))
        context->are_shapes_set = false;
    binding->shape = shape;
    binding->has_shape = true;
    return TN_OK;
}

/* The pointers of all states are set anew, and what was captured with them is gone. */
static void forget_pointers(tn_context *context) {
    context->are_bindings_set = false;
    for (int i = 0; i < TN_SHAPE_STATES; i++)
        if (context->states[i]) context->states[i]->is_applied = false;
}

/* What was bound in the device's memory is no longer. */
static void take_back(tn_context *context, bool *is_device) {
    if (*is_device) forget_pointers(context);
    *is_device = false;
}

tn_status tn_context_bind_input(tn_context *context, uint32_t input, const void *data,
                                uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(check_index("input", input, tn_engine_input_count(context->engine)));
    tn_input_binding *binding = &context->inputs[input];
    take_back(context, &binding->is_device);
    if (binding->data != data || binding->bytes != bytes) context->are_bindings_set = false;
    binding->data = data;
    binding->bytes = bytes;
    return TN_OK;
}

static tn_status check_device(const tn_context *context) {
    return context->own_stream
               ? TN_OK
               : tn_fail(TN_ERROR_STATE, "the engine runs on the processor, not on a device");
}

tn_status tn_context_bind_device_input(tn_context *context, uint32_t input, const void *device_data,
                                       uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(check_index("input", input, tn_engine_input_count(context->engine)));
    TN_TRY(check_device(context));
    tn_input_binding *binding = &context->inputs[input];
    const bool is_same = binding->is_device && binding->data == device_data;
    TN_TRY(tn_context_bind_input(context, input, device_data, bytes));
    binding->is_device = true;
    if (!is_same) forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_bind_device_output(tn_context *context, uint32_t output, void *device_data,
                                        uint64_t bytes) {
    if (!context || !device_data)
        return tn_fail(TN_ERROR_ARGUMENT, "a context and memory of the device are needed");
    TN_TRY(check_index("output", output, tn_engine_output_count(context->engine)));
    TN_TRY(check_device(context));
    tn_output_binding *binding = &context->outputs[output];
    const bool is_same = binding->is_device && binding->data == device_data;
    TN_TRY(tn_context_bind_output(context, output, device_data, bytes));
    binding->is_device = true;
    if (!is_same) forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_lend_input(tn_context *context, uint32_t input, uint64_t bytes,
                                void **out_data) {
    if (!context || !out_data)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_lend_input needs a context and a place for the pointer");
    TN_TRY(check_index("input", input, tn_engine_input_count(context->engine)));
    TN_TRY(tn_context_check_lost(context));
    TN_TRY(tn_walk_wait(context)); /* the device may still read the old memory */
    TN_TRY(tn_bindings_own_input(context, input, (size_t)bytes));
    TN_TRY(tn_context_bind_input(context, input, context->inputs[input].own, bytes));
    *out_data = context->inputs[input].own;
    return TN_OK;
}

tn_status tn_context_bind_output(tn_context *context, uint32_t output, void *data, uint64_t bytes) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(check_index("output", output, tn_engine_output_count(context->engine)));
    tn_output_binding *binding = &context->outputs[output];
    take_back(context, &binding->is_device);
    if (binding->data != data || binding->bytes != bytes) context->are_bindings_set = false;
    binding->data = data;
    binding->bytes = bytes;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status walk(tn_context *context) {
    if (context->checked) return tn_checked_walk(context);
    if (context->is_profiling) return tn_walk_profile(context);
    return context->stream ? tn_walk_run_device(context) : tn_walk_run(context);
}

static tn_status run(tn_context *context) {
    if (!context->are_shapes_set || tn_reshape_is_stale(context))
        TN_TRY(tn_context_reshape(context));
    context->statistics.runs++;
    if (context->dynamic) return tn_dynamic_run(context);
    if (!context->are_bindings_set) TN_TRY(tn_bindings_apply(context));
    tn_bindings_stage_inputs(context);
    context->is_pending = context->stream != NULL;
    TN_TRY(walk(context));
    if (context->stream == context->own_stream || tn_bindings_has_copies(context)) {
        const tn_status status = tn_walk_wait(context);
        if (status != TN_OK) return tn_error_at(status, "some node (a checked run says which)");
    }
    tn_bindings_copy_outputs(context);
    return TN_OK;
}

/* Nothing may be at work when the caller takes its memory back. A device that is lost stays so: the
 * reason is kept for the calls to come. */
static tn_status end_failed(tn_context *context, tn_status status) {
    tn_error_copy error;
    tn_error_save(&error);
    (void)tn_walk_wait(context);
    if (context->stream && tn_device_alive(context->engine->device) != TN_OK) {
        context->lost = error;
        context->is_lost = true;
    }
    tn_error_restore(&error);
    return status;
}

tn_status tn_context_check_lost(const tn_context *context) {
    if (!context->is_lost) return TN_OK;
    tn_error_restore(&context->lost);
    return context->lost.status;
}

tn_status tn_context_run(tn_context *context) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_context_check_lost(context));
    const tn_device *device = context->engine->device;
    const uint32_t before = context->stream ? tn_device_enter(device) : 0;
    const tn_status status = run(context);
    if (context->stream) tn_device_leave(device, before);
    return __builtin_expect(status == TN_OK, 1) ? TN_OK : end_failed(context, status);
}

tn_status tn_context_set_stream(tn_context *context, void *stream) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    if (!context->own_stream)
        return tn_fail(TN_ERROR_STATE, "the engine runs on the processor, which has no streams");
    TN_TRY(tn_context_check_lost(context));
    void *chosen = stream ? stream : context->own_stream;
    if (chosen == context->stream) return TN_OK;
    TN_TRY(tn_walk_wait(context));
    context->stream = chosen;
    forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_output(tn_context *context, uint32_t output, const tn_tensor **out_tensor) {
    if (!context || !out_tensor)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_output needs a context and a place for the tensor");
    TN_TRY(check_index("output", output, tn_engine_output_count(context->engine)));
    const tn_tensor *tensor = context->dynamic   ? tn_dynamic_output(context, output)
                              : context->current ? &context->current->outputs[output].tensor
                                                 : NULL;
    if (!tensor)
        return tn_fail(TN_ERROR_STATE, "output '%s' is not there before %s",
                       context->engine->outputs[output].name,
                       context->dynamic ? "run: its shape depends on data" : "reshape or run");
    *out_tensor = tensor;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * profile, statistics */

tn_status tn_context_set_profiling(tn_context *context, bool is_on) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    if (is_on && !context->is_profiling) {
        memset(context->profile, 0,
               context->engine->program->step_count * sizeof(*context->profile));
        context->profile_count = 0;
    }
    context->is_profiling = is_on;
    return TN_OK;
}

uint32_t tn_context_profile_count(const tn_context *context) {
    return context ? context->profile_count : 0;
}

const tn_profile_entry *tn_context_profile(const tn_context *context, uint32_t index) {
    return context && index < context->profile_count
               ? &context->profile[context->profile_steps[index]]
               : NULL;
}

void tn_context_get_statistics(const tn_context *context, tn_context_statistics *out_statistics) {
    if (!context || !out_statistics) return;
    const uint32_t size = out_statistics->size;
    memcpy(out_statistics, &context->statistics,
           size < sizeof(context->statistics) ? size : sizeof(context->statistics));
    out_statistics->size = size;
}

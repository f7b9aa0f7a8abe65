/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context: creation, memory for tensors, profile, statistics. context_private.h says where the
 * parts are.
 */
#include "plugin/devices.h"
#include "run/context_private.h"

#include <tenon/context_memory.h>

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * creation */

static void *counted_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    tn_context *context = user;
    context->statistics.allocations++;
    return context->parent.allocate(context->parent.user, bytes, alignment);
}

static void counted_deallocate(void *user, void *memory) {
    const tn_context *context = user;
    context->parent.deallocate(context->parent.user, memory);
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
    pthread_mutex_lock(tn_engine_opening(engine));
    for (uint32_t i = 0; i < engine->program->step_count && status == TN_OK; i++) {
        if (engine->steps[i].step->is_device) context->kernels[i].stream = context->device.stream;
        context->kernels[i].context = context;
        context->kernels[i].bodies = tn_body_contexts_executor(context);
        if (engine->steps[i].is_isolated)
            describe_isolated(&context->kernels[i], &engine->steps[i].prepared);
        else if (engine->steps[i].prepared.is_prepared)
            status = tn_open_kernel_init(&context->kernels[i], &engine->steps[i].prepared);
    }
    pthread_mutex_unlock(tn_engine_opening(engine));
    return status;
}

/* The last one first, so that who created a shared resource is the last to have it. */
static void close_kernels(tn_context *context) {
    tn_engine *engine = context->engine;
    pthread_mutex_lock(tn_engine_opening(engine));
    for (uint32_t i = engine->program->step_count; context->kernels && i-- > 0;)
        tn_open_kernel_deinit(&context->kernels[i]);
    pthread_mutex_unlock(tn_engine_opening(engine));
}

static tn_status set_up_context(tn_context *context) {
    const tn_engine *engine = context->engine;
    const uint32_t steps = engine->program->step_count;
    context->kernels = tn_allocate_zero(&context->allocator, steps + 1u, sizeof(*context->kernels));
    context->ports.inputs = tn_allocate_zero(&context->allocator, engine->graph->input_count + 1,
                                             sizeof(*context->ports.inputs));
    context->ports.outputs = tn_allocate_zero(&context->allocator, engine->graph->output_count + 1,
                                              sizeof(*context->ports.outputs));
    context->shapes.now = tn_allocate_zero(&context->allocator, engine->graph->input_count + 1,
                                           sizeof(*context->shapes.now));
    context->shapes.values = tn_allocate_zero(&context->allocator, engine->graph->input_count + 1,
                                              sizeof(*context->shapes.values));
    context->profile.entries =
        tn_allocate_zero(&context->allocator, steps + 1u, sizeof(*context->profile.entries));
    context->profile.steps =
        tn_allocate_zero(&context->allocator, steps + 1u, sizeof(*context->profile.steps));
    if (!context->kernels || !context->ports.inputs || !context->ports.outputs ||
        !context->shapes.now || !context->shapes.values || !context->profile.entries ||
        !context->profile.steps)
        return tn_fail_memory("a context");
    TN_TRY(tn_profiles_create(context));
    tn_context_find_ports(context);
    TN_TRY(tn_heaps_create(context));
    TN_TRY(tn_inference_init_in(&context->shapes.inference, engine->graph, &engine->plan,
                                &context->allocator));
    context->shapes.inference.run = context->run;
    TN_TRY(tn_execution_open_device(context));
    TN_TRY(tn_body_contexts_create(context));
    TN_TRY(open_kernels(context));
    const tn_isolation_owner owner = {engine, &context->allocator, context->kernels,
                                      &context->statistics};
    if (engine->is_isolated) TN_TRY(tn_isolation_create(&owner, &context->isolation));
    if (engine->is_checked) TN_TRY(tn_checked_context_create(context));
    return engine->plan.is_sized_by_run ? tn_dynamic_create(context) : TN_OK;
}

/* Where a context's memory comes from. */
typedef struct memory_source {
    tn_allocator parent;
    tn_device_allocator device_allocator;
    bool is_lent; /* alone */
} memory_source;

static tn_status create(tn_engine *engine, const memory_source *source, tn_context **out_context) {
    tn_context *context = tn_allocate_zero(&source->parent, 1, sizeof(*context));
    if (!context) return tn_fail_memory("a context");
    context->engine = tn_engine_retain(engine);
    context->parent = source->parent;
    context->device_allocator = source->device_allocator;
    context->arena.is_without_memory = source->is_lent;
    context->allocator =
        (tn_allocator){sizeof(tn_allocator), context, counted_allocate, counted_deallocate};
    context->statistics.size = sizeof(context->statistics);
    tn_run_control_init(&context->control);
    context->run = &context->control.state;
    tn_status status = set_up_context(context);
    if (status == TN_OK && context->arena.is_without_memory)
        status = tn_context_check_lending(context);
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

tn_status tn_context_create_part(const tn_context *whole, tn_engine *engine, bool is_a_body,
                                 tn_context **out_context) {
    const memory_source source = {.parent = whole->parent,
                                  .device_allocator = whole->device_allocator,
                                  .is_lent = !is_a_body && whole->arena.is_without_memory};
    return create(engine, &source, out_context);
}

static tn_status read_context_options(const tn_context_options *given, memory_source *source) {
    tn_context_options options;
    TN_TRY(tn_options_read(&options, sizeof(options), given, "the context options"));
    TN_TRY(tn_options_check_flags(options.flags, TN_CONTEXT_CALLERS_MEMORY, "the context options"));
    source->is_lent = options.flags & TN_CONTEXT_CALLERS_MEMORY;
    if (options.allocator) {
        if (!options.allocator->allocate || !options.allocator->deallocate)
            return tn_fail(TN_ERROR_ARGUMENT, "an allocator needs `allocate` and `deallocate`");
        source->parent = *options.allocator;
    }
    return options.device_allocator
               ? tn_device_allocator_read(options.device_allocator, &source->device_allocator)
               : TN_OK;
}

tn_status tn_context_create_with(tn_engine *engine, const tn_context_options *options,
                                 tn_context **out_context) {
    if (!engine || !out_context)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_create needs an engine and a pointer for the context");
    memory_source source = {.parent = *engine->allocator,
                            .device_allocator = engine->device_allocator};
    TN_TRY(read_context_options(options, &source));
    return create(engine, &source, out_context);
}

tn_status tn_context_create(tn_engine *engine, tn_context **out_context) {
    return tn_context_create_with(engine, NULL, out_context);
}

void tn_context_destroy(tn_context *context) {
    if (!context || !tn_context_close_runs(context)) return;
    tn_engine *engine = context->engine;
    const tn_allocator *allocator = &context->allocator;
    (void)tn_execution_wait(context);
    for (int i = 0; i < TN_SHAPE_STATES; i++)
        tn_shape_state_destroy(context, context->shapes.states[i]);
    tn_dynamic_destroy(context);
    tn_checked_context_destroy(context);
    tn_unfused_destroy(context);
    tn_profiles_destroy(context);
    tn_execution_profile_close(context);
    close_kernels(context);
    tn_body_contexts_destroy(context);
    for (size_t i = 0; context->ports.inputs && i < engine->graph->input_count; i++) {
        tn_execution_host_deallocate(context, context->ports.inputs[i].staging);
        tn_execution_host_deallocate(context, context->ports.inputs[i].own);
    }
    for (size_t i = 0; context->ports.outputs && i < engine->graph->output_count; i++)
        tn_execution_host_deallocate(context, context->ports.outputs[i].own);
    tn_execution_close_device(context);
    tn_inference_deinit(&context->shapes.inference);
    tn_heaps_destroy(context);
    if (!context->arena.owner) tn_context_free_arena(context);
    tn_isolation_destroy(context->isolation);
    tn_deallocate(allocator, context->kernels);
    tn_deallocate(allocator, context->ports.inputs);
    tn_deallocate(allocator, context->ports.outputs);
    tn_deallocate(allocator, context->shapes.now);
    tn_deallocate(allocator, (void *)context->shapes.values);
    tn_deallocate(allocator, context->profile.entries);
    tn_deallocate(allocator, context->profile.steps);
    tn_run_control_deinit(&context->control);
    const tn_allocator parent = context->parent;
    tn_deallocate(&parent, context);
    tn_engine_release(engine);
}

/* ----------------------------------------------------------------------------------------------
 * memory for tensors */

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

/* ----------------------------------------------------------------------------------------------
 * profile, statistics */

tn_status tn_context_set_profiling(tn_context *context, bool is_on) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    if (is_on && !context->profile.is_on) {
        memset(context->profile.entries, 0,
               context->engine->program->step_count * sizeof(*context->profile.entries));
        context->profile.count = 0;
    }
    context->profile.is_on = is_on;
    return TN_OK;
}

uint32_t tn_context_profile_count(const tn_context *context) {
    if (!context || !tn_run_control_is_idle(&context->control)) return 0;
    const tn_context *other = tn_context_stand_in(context);
    return other ? tn_context_profile_count(other) : context->profile.count;
}

const tn_profile_entry *tn_context_profile(const tn_context *context, uint32_t index) {
    if (!context || !tn_run_control_is_idle(&context->control)) return NULL;
    const tn_context *other = tn_context_stand_in(context);
    if (other) return tn_context_profile(other, index);
    return index < context->profile.count ? &context->profile.entries[context->profile.steps[index]]
                                          : NULL;
}

/* What a context that stands in has counted; `is_alone`: shapes of its own as well, which are then
 * found again there and not here. */
static void add_statistics(const tn_context *other, tn_context_statistics *all, bool is_alone) {
    tn_context_statistics its = {.size = sizeof(its)};
    tn_context_get_statistics(other, &its);
    all->allocations += its.allocations;
    all->arena_bytes += its.arena_bytes;
    all->waits += its.waits;
    all->graph_launches += its.graph_launches;
    if (!is_alone) return;
    all->shape_cache_hits += its.shape_cache_hits;
    all->isolated_calls += its.isolated_calls;
}

void tn_context_get_statistics(const tn_context *context, tn_context_statistics *out_statistics) {
    if (!context || !out_statistics || !tn_run_control_is_idle(&context->control)) return;
    const uint32_t size = out_statistics->size;
    tn_context_statistics all = context->statistics;
    tn_body_contexts_count(context, &all);
    if (context->unfused.context) add_statistics(context->unfused.context, &all, false);
    for (uint32_t p = 1; context->profiles.contexts && p < context->engine->profile_count; p++)
        if (context->profiles.contexts[p])
            add_statistics(context->profiles.contexts[p], &all, true);
    memcpy(out_statistics, &all, size < sizeof(all) ? size : sizeof(all));
    out_statistics->size = size;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: reshape where shapes or values have changed, bindings, the execution loop, the outputs.
 * And what becomes of a context whose run failed or whose device is lost.
 */
#include "device/cpu/shared_threads.h"
#include "device/cpu/workers.h"
#include "plugin/devices.h"
#include "run/context_private.h"

static tn_status execute(tn_context *context) {
    if (context->checked) return tn_execution_run_checked(context);
    if (context->profile.is_on) return tn_execution_profile(context);
    return context->device.stream ? tn_execution_run_device(context) : tn_execution_run(context);
}

static tn_status wait_for_run(tn_context *context) {
    const tn_status status = tn_execution_wait(context);
    if (status != TN_OK) return tn_error_at(status, "some node (a checked run says which)");
    return tn_execution_verify(context);
}

/* Outputs of the processor's to the device's memory. */
static tn_status send(tn_context *context) {
    TN_TRY(tn_device_ports_send(context));
    return context->device.stream == context->device.own_stream ? wait_for_run(context) : TN_OK;
}

static tn_status run_dynamic(tn_context *context) {
    TN_TRY(tn_dynamic_run(context));
    if (context->ports.has_device && tn_device_ports_has_sends(context)) return send(context);
    return context->device.stream == context->device.own_stream ? wait_for_run(context) : TN_OK;
}

static tn_status run_once(tn_context *context) {
    TN_TRY(tn_run_check(context->run));
    if (context->ports.has_strided) TN_TRY(tn_strided_gather(context));
    if (context->profiles.contexts) {
        TN_TRY(tn_profiles_update(context));
        tn_context *other = tn_profiles_other(context);
        if (other) {
            if (context->ports.has_strided) {
                TN_TRY(tn_strided_check_outputs(context));
                TN_TRY(tn_strided_settle_all(context));
            }
            context->statistics.runs++;
            return tn_profiles_run(context, other);
        }
    }
    TN_TRY(tn_device_ports_fetch(context));
    if (!context->shapes.are_set || tn_reshape_is_stale(context)) TN_TRY(tn_reshape_run(context));
    if (context->ports.has_strided) TN_TRY(tn_strided_check_outputs(context));
    context->statistics.runs++;
    if (context->unfused.is_now) {
        if (context->ports.has_strided) TN_TRY(tn_strided_settle_all(context));
        return tn_unfused_run(context);
    }
    TN_TRY(tn_heaps_begin(context));
    if (context->dynamic) return run_dynamic(context);
    if (context->ports.has_allocators) TN_TRY(tn_output_ask_all(context));
    if (!context->ports.are_set) TN_TRY(tn_bindings_apply(context));
    tn_bindings_stage_inputs(context);
    context->device.is_pending = context->device.stream != NULL;
    tn_crash_enter(&context->crash, NULL, NULL, NULL);
    const tn_status executed = execute(context);
    tn_crash_leave(&context->crash);
    TN_TRY(executed);
    const bool has_copies = tn_bindings_has_copies(context),
               has_sends = context->ports.has_device && tn_device_ports_has_sends(context);
    if (has_copies || (context->device.stream == context->device.own_stream && !has_sends))
        TN_TRY(wait_for_run(context));
    tn_bindings_copy_outputs(context);
    return has_sends ? send(context) : TN_OK;
}

/* Nothing may be at work when the caller takes its memory back. A device that is lost stays so: the
 * reason is kept for the calls to come. */
tn_status tn_context_end_failed(tn_context *context, tn_status status) {
    tn_error_copy error;
    tn_error_save(&error);
    (void)tn_context_wait_all(context);
    if (context->device.stream && tn_device_alive(context->engine->device) != TN_OK) {
        context->device.lost = error;
        context->device.is_lost = true;
    }
    tn_error_restore(&error);
    return status;
}

tn_status tn_context_check_lost(const tn_context *context) {
    if (!context->device.is_lost) return TN_OK;
    tn_error_restore(&context->device.lost);
    return context->device.lost.status;
}

void tn_context_join(tn_context *part, const tn_context *whole) {
    part->run = part->shapes.inference.run = whole->run;
}

tn_status tn_context_run_begun(tn_context *context) {
    TN_TRY(tn_context_check_lost(context));
    /* Waiting, as below, would end the capture. Another profile's context asks itself. */
    if (!tn_profiles_other(context)) TN_TRY(tn_device_ports_check_capture(context));
    const tn_device *device = context->engine->device;
    const uint32_t before = context->device.stream ? tn_device_enter(device) : 0;
    context->device.is_done_marked = false;
    tn_status status = TN_OK;
    if (context->device.stream != context->device.own_stream)
        status = tn_execution_verify(context); /* what earlier runs on the caller's stream found */
    if (status == TN_OK) status = run_once(context);
    if (status == TN_OK && context->ports.has_strided) status = tn_strided_scatter(context);
    if (context->device.stream) tn_device_leave(device, before);
    return __builtin_expect(status == TN_OK, 1) ? TN_OK : tn_context_end_failed(context, status);
}

/* A cancel that came too late for any node makes the run fail all the same. */
tn_status tn_context_end_run(tn_context *context, tn_status status) {
    if (status == TN_OK && __builtin_expect(tn_run_control_end(&context->control), 1)) return TN_OK;
    if (status == TN_OK) status = tn_context_end_failed(context, tn_run_fail_cancelled());
    tn_run_control_reset(&context->control);
    return status;
}

static bool is_cancelled(const void *user) {
    return tn_run_is_cancelled(user);
}

/* A run that loops of other callers know of. */
static tn_status run_among_others(tn_context *context) {
    const tn_thread_pool *pool = &context->engine->pool;
    if (pool->threads <= 1 || context->device.stream) return tn_context_run_begun(context);
    tn_workers_enter(pool->workers);
    const tn_status status = tn_context_run_begun(context);
    tn_workers_leave(pool->workers);
    return status;
}

/* Begins when the queue admits it, where threads are shared with other engines. */
tn_status tn_context_run_queued(tn_context *context) {
    const tn_engine *engine = context->engine;
    tn_threads *threads = context->device.stream ? NULL : engine->shared_threads;
    if (__builtin_expect(!threads, 1)) return run_among_others(context);
    if (!tn_threads_take(threads, engine->pool.threads, is_cancelled, context->run))
        return tn_run_fail_cancelled();
    const tn_status status = run_among_others(context);
    tn_threads_give(threads, engine->pool.threads);
    return status;
}

tn_status tn_context_run(tn_context *context) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    if (context->run != &context->control.state) return tn_context_run_begun(context); /* a part */
    TN_TRY(tn_run_control_begin(&context->control));
    return tn_context_end_run(context, tn_context_run_queued(context));
}

tn_status tn_context_wait_all(tn_context *context) {
    TN_TRY(tn_execution_wait(context));
    if (context->unfused.context) TN_TRY(tn_context_wait_all(context->unfused.context));
    for (uint32_t p = 1; context->profiles.contexts && p < context->engine->profile_count; p++)
        if (context->profiles.contexts[p])
            TN_TRY(tn_context_wait_all(context->profiles.contexts[p]));
    return TN_OK;
}

tn_status tn_context_set_stream(tn_context *context, void *stream) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    if (!context->device.own_stream && !stream) return TN_OK;
    if (!context->device.own_stream)
        return tn_fail(TN_ERROR_STATE, "the engine runs on the processor, which has no streams");
    TN_TRY(tn_context_check_lost(context));
    void *chosen = stream ? stream : context->device.own_stream;
    if (chosen == context->device.stream) return TN_OK;
    TN_TRY(tn_context_wait_all(context));
    context->device.stream = chosen;
    context->device.is_done_marked = false;
    tn_context_forget_pointers(context);
    return TN_OK;
}

tn_status tn_context_find_output(const tn_context *context, uint32_t output,
                                 const tn_tensor **out_tensor) {
    const tn_context *other = tn_context_stand_in(context);
    if (other) return tn_context_find_output(other, output, out_tensor);
    const tn_tensor *tensor = context->dynamic ? tn_dynamic_output(context, output)
                              : context->shapes.current
                                  ? &context->shapes.current->outputs[output].tensor
                                  : NULL;
    if (!tensor)
        return tn_fail(TN_ERROR_STATE, "output '%s' is not there before %s",
                       context->engine->outputs[output].name,
                       context->dynamic ? "run: its shape depends on data" : "reshape or run");
    *out_tensor = tensor;
    return TN_OK;
}

tn_status tn_context_output(tn_context *context, uint32_t output, const tn_tensor **out_tensor) {
    if (!context || !out_tensor)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_output needs a context and a pointer for the tensor");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_output(context, output));
    return tn_context_find_output(context, output, out_tensor);
}

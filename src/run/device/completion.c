/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a caller with a stream of his own learns that a run is over without waiting for it: by
 * asking, or by being called. The event is recorded when it is first asked for, so that runs of
 * those who never ask record none.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/context_private.h"

static tn_status get_services(const tn_context *context, const tn_device_completion **out_table) {
    const tn_device *device = context->engine->device;
    const tn_device_completion *table =
        TN_DEVICE_HAS(device, extension) ? device->extension(device, TN_DEVICE_COMPLETION) : NULL;
    if (!table || table->size < sizeof(*table) || !table->event_query || !table->call_host)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "device '%s' cannot be asked whether it is done: wait for the stream",
                       device->kind);
    if (TN_DEVICE_HAS(device, is_capturing) && device->is_capturing(device, context->device.stream))
        return tn_fail(TN_ERROR_STATE, "the stream is being captured, so that nothing of it runs");
    *out_table = table;
    return TN_OK;
}

/* Whether run itself has waited. */
static bool has_waited(const tn_context *context) {
    return !context->device.stream || context->device.stream == context->device.own_stream;
}

static tn_status mark_end(tn_context *context) {
    const tn_device *device = context->engine->device;
    tn_status status = TN_OK;
    if (!context->device.done_event)
        status = device->event_create(device, &context->device.done_event);
    if (status == TN_OK)
        status = device->event_record(device, context->device.done_event, context->device.stream);
    context->device.is_done_marked = status == TN_OK;
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "marking the run's end");
}

static tn_status ask_device(tn_context *context, bool *out_is_done) {
    const tn_device *device = context->engine->device;
    const tn_device_completion *services = NULL;
    uint32_t is_done = 0;
    TN_TRY(get_services(context, &services));
    if (!context->device.is_done_marked) TN_TRY(mark_end(context));
    const tn_status status = services->event_query(device, context->device.done_event, &is_done);
    if (status != TN_OK)
        return tn_context_end_failed(context,
                                     tn_device_failed(device, status, "running the network"));
    *out_is_done = is_done != 0;
    return TN_OK;
}

tn_status tn_context_is_done(tn_context *context, bool *out_is_done) {
    if (!context || !out_is_done)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_context_is_done needs a context and an answer");
    if (!tn_run_control_is_idle(&context->control)) {
        *out_is_done = false;
        return TN_OK;
    }
    TN_TRY(tn_context_check_lost(context));
    if (has_waited(context)) {
        *out_is_done = true;
        return TN_OK;
    }
    const tn_device *device = context->engine->device;
    const uint32_t before = tn_device_enter(device);
    const tn_status status = ask_device(context, out_is_done);
    tn_device_leave(device, before);
    return status;
}

static tn_status enqueue(tn_context *context, void (*function)(void *user), void *user) {
    const tn_device *device = context->engine->device;
    const tn_device_completion *services = NULL;
    TN_TRY(get_services(context, &services));
    const tn_status status = services->call_host(device, context->device.stream, function, user);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a call of the host");
}

tn_status tn_context_call_when_done(tn_context *context, void (*function)(void *user), void *user) {
    if (!context || !function)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_call_when_done needs a context and a function");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_lost(context));
    if (has_waited(context)) {
        function(user);
        return TN_OK;
    }
    const tn_device *device = context->engine->device;
    const uint32_t before = tn_device_enter(device);
    const tn_status status = enqueue(context, function, user);
    tn_device_leave(device, before);
    return status;
}

void tn_context_close_completion(tn_context *context) {
    const tn_device *device = context->engine->device;
    if (context->device.done_event) device->event_destroy(device, context->device.done_event);
}

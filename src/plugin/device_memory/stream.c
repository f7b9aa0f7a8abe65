/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's streams and events. See device_memory.h. */
#include "plugin/device_memory/device_memory.h"
#include "base/status.h"

/* ----------------------------------------------------------------------------------------------
 * streams */

tn_status tn_stream_create(tn_device_handle *device, tn_stream **out_stream) {
    if (!device || !out_stream)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_stream_create needs a device and a pointer for the stream");
    tn_stream *stream = tn_allocate_zero(tn_device_handle_allocator(device), 1, sizeof(*stream));
    if (!stream) return tn_fail_memory("a stream");
    const tn_status status = device->device->stream_create(device->device, &stream->native);
    if (status != TN_OK) {
        tn_deallocate(tn_device_handle_allocator(device), stream);
        return tn_device_failed(device->device, status, "a stream");
    }
    atomic_init(&stream->references, 1);
    stream->handle = tn_device_retain(device);
    *out_stream = stream;
    return TN_OK;
}

void tn_stream_release(tn_stream *stream) {
    if (!stream || atomic_fetch_sub(&stream->references, 1) != 1) return;
    tn_device_handle *handle = stream->handle;
    (void)handle->device->stream_wait(handle->device, stream->native);
    handle->device->stream_destroy(handle->device, stream->native);
    tn_deallocate(tn_device_handle_allocator(handle), stream);
    tn_device_release(handle);
}

void tn_stream_destroy(tn_stream *stream) {
    if (!stream) return;
    (void)stream->handle->device->stream_wait(stream->handle->device, stream->native);
    tn_stream_release(stream);
}

tn_status tn_stream_wait(tn_stream *stream) {
    if (!stream) return tn_fail(TN_ERROR_ARGUMENT, "the stream is null");
    const tn_device *device = stream->handle->device;
    const tn_status status = device->stream_wait(device, stream->native);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "waiting for a stream");
}

void *tn_stream_native(const tn_stream *stream) {
    return stream ? stream->native : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * events */

tn_status tn_event_create(tn_device_handle *device, tn_event **out_event) {
    if (!device || !out_event)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_event_create needs a device and a pointer for the event");
    tn_event *event = tn_allocate_zero(tn_device_handle_allocator(device), 1, sizeof(*event));
    if (!event) return tn_fail_memory("an event");
    const tn_status status = device->device->event_create(device->device, &event->native);
    if (status != TN_OK) {
        tn_deallocate(tn_device_handle_allocator(device), event);
        return tn_device_failed(device->device, status, "an event");
    }
    event->handle = tn_device_retain(device);
    *out_event = event;
    return TN_OK;
}

/* What is on the stream may still write it. */
void tn_event_destroy(tn_event *event) {
    if (!event) return;
    tn_device_handle *handle = event->handle;
    if (event->recorded) (void)handle->device->stream_wait(handle->device, event->recorded->native);
    tn_stream_release(event->recorded);
    handle->device->event_destroy(handle->device, event->native);
    tn_deallocate(tn_device_handle_allocator(handle), event);
    tn_device_release(handle);
}

tn_status tn_event_record(tn_event *event, tn_stream *stream) {
    void *native = NULL;
    if (!event || !stream)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_event_record needs an event and a stream");
    TN_TRY(tn_device_handle_stream(event->handle, stream, &native));
    const tn_device *device = event->handle->device;
    const tn_status status = device->event_record(device, event->native, native);
    if (status != TN_OK) return tn_device_failed(device, status, "recording an event");
    atomic_fetch_add(&stream->references, 1);
    tn_stream_release(event->recorded);
    event->recorded = stream;
    return TN_OK;
}

static tn_status check_recorded(const tn_event *event) {
    if (!event) return tn_fail(TN_ERROR_ARGUMENT, "the event is null");
    return event->recorded ? TN_OK
                           : tn_fail(TN_ERROR_STATE, "the event was never recorded on a stream");
}

tn_status tn_event_wait(tn_event *event, tn_stream *stream) {
    void *native = NULL;
    TN_TRY(check_recorded(event));
    if (!stream) return tn_stream_wait(event->recorded);
    TN_TRY(tn_device_handle_stream(event->handle, stream, &native));
    const tn_device *device = event->handle->device;
    const tn_status status = device->event_wait(device, event->native, native);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "waiting for an event");
}

tn_status tn_event_query(tn_event *event, bool *out_is_done) {
    uint32_t is_done = 0;
    TN_TRY(check_recorded(event));
    if (!out_is_done) return tn_fail(TN_ERROR_ARGUMENT, "tn_event_query needs an answer");
    const tn_device *device = event->handle->device;
    const tn_device_completion *table =
        TN_DEVICE_HAS(device, extension) ? device->extension(device, TN_DEVICE_COMPLETION) : NULL;
    if (!table || table->size < sizeof(*table) || !table->event_query)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "device '%s' cannot be asked whether it is done: wait for the event",
                       device->kind);
    const tn_status status = table->event_query(device, event->native, &is_done);
    if (status != TN_OK) return tn_device_failed(device, status, "asking for an event");
    *out_is_done = is_done != 0;
    return TN_OK;
}

tn_status tn_event_elapsed(tn_event *from, tn_event *to, double *out_ns) {
    TN_TRY(check_recorded(from));
    TN_TRY(check_recorded(to));
    if (!out_ns || from->handle->device != to->handle->device)
        return tn_fail(
            TN_ERROR_ARGUMENT,
            "tn_event_elapsed needs two events of one device, and a pointer for the time");
    const tn_device *device = from->handle->device;
    const tn_status status = device->event_elapsed(device, from->native, to->native, out_ns);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "the time between events");
}

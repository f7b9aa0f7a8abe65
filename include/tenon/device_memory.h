/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices for callers: their memory, streams, events and copies, without the headers of CUDA or of
 * any other device. It is what the device's library does (tenon/plugin/device.h) behind checks.
 *
 *     tn_device_open -> tn_device_allocate, tn_stream_create -> tn_device_copy_to_device ->
 *     tn_context_bind_device_input, tn_context_set_stream(context, tn_stream_native(stream)) ->
 *     tn_context_run -> tn_device_copy_to_host -> tn_stream_wait
 *
 * On "cpu" the same calls work: memory is the host's, a stream does everything at once, and its
 * native stream is null, which tn_context_set_stream accepts there. So a program is written once.
 *
 * `stream` may be null in all calls: the work is then done when the call returns. Otherwise it is
 * done in the order of the stream, and memory of the host that is written is there when the stream
 * was waited for; memory of the host that is read may be written again when the call returns,
 * unless it came from tn_device_host_allocate. Streams and events belong to the device that they
 * were made for; another one's is TN_ERROR_ARGUMENT.
 *
 * Memory that came from tn_device_allocate or tn_device_host_allocate of the same handle is known:
 * what goes beyond its end, or is of the wrong kind, is TN_ERROR_RANGE or TN_ERROR_ARGUMENT and
 * changes nothing. Other pointers are taken as they are. Errors of the device: TN_ERROR_DEVICE with
 * its reason, TN_ERROR_MEMORY. [thread: any; one at a time for one stream or event]
 */
#ifndef TENON_DEVICE_MEMORY_H
#define TENON_DEVICE_MEMORY_H

#include <tenon/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_device_handle tn_device_handle;
typedef struct tn_stream tn_stream;
typedef struct tn_event tn_event;

/* The device of a name ("cpu", "cuda", "cuda:1"), whose library is loaded where it is not yet.
 * Errors as of tn_runtime_find_device. */
TN_EXPORT tn_status tn_device_open(tn_runtime *runtime, const char *name,
                                   tn_device_handle **out_device);
/* Counts are atomic; streams, events and contexts' allocators hold one. With the last one goes what
 * is still allocated. Null is fine. */
TN_EXPORT tn_device_handle *tn_device_retain(tn_device_handle *device);
TN_EXPORT void tn_device_release(tn_device_handle *device);
/* What tn_runtime_visit_devices shows of it, with how much of its memory is free now (0 and 0: not
 * known, as for the processor). `out_info->size` is set by the caller; pointers have the lifetime
 * of the device. */
TN_EXPORT tn_status tn_device_get_info(tn_device_handle *device, tn_device_info *out_info);

/* Memory of the device, aligned as it needs (64 bytes at least); 0 bytes are fine. With a stream it
 * may be used by what is enqueued there from here on. TN_ERROR_MEMORY. */
TN_EXPORT tn_status tn_device_allocate(tn_device_handle *device, uint64_t bytes, tn_stream *stream,
                                       void **out_memory);
/* In the order of the stream; without one nothing may use it any more. Null memory is fine.
 * TN_ERROR_ARGUMENT: it is not from this handle, or was freed before. */
TN_EXPORT tn_status tn_device_free(tn_device_handle *device, void *memory, tn_stream *stream);
/* Memory of the host that the device copies from and to fastest, while the host goes on (pinned),
 * aligned to 64 bytes. */
TN_EXPORT tn_status tn_device_host_allocate(tn_device_handle *device, uint64_t bytes,
                                            void **out_memory);
TN_EXPORT tn_status tn_device_host_free(tn_device_handle *device, void *memory);

TN_EXPORT tn_status tn_device_copy_to_device(tn_device_handle *device, void *to, const void *from,
                                             uint64_t bytes, tn_stream *stream);
TN_EXPORT tn_status tn_device_copy_to_host(tn_device_handle *device, void *to, const void *from,
                                           uint64_t bytes, tn_stream *stream);
/* Both in the memory of the device; they must not overlap. */
TN_EXPORT tn_status tn_device_copy_on_device(tn_device_handle *device, void *to, const void *from,
                                             uint64_t bytes, tn_stream *stream);
/* From the memory of one device to that of another (or of the same). `stream` is of `device`; what
 * makes `from` must be done. It goes through the host's memory, and is done when this returns. */
TN_EXPORT tn_status tn_device_copy_from(tn_device_handle *device, void *to,
                                        tn_device_handle *from_device, const void *from,
                                        uint64_t bytes, tn_stream *stream);
/* Sets each byte of the device's memory. */
TN_EXPORT tn_status tn_device_fill(tn_device_handle *device, void *to, uint8_t byte, uint64_t bytes,
                                   tn_stream *stream);

/* A stream: what is enqueued there is done in order, beside what is on others. */
TN_EXPORT tn_status tn_stream_create(tn_device_handle *device, tn_stream **out_stream);
/* Waits for what is on it. Null is fine. */
TN_EXPORT void tn_stream_destroy(tn_stream *stream);
/* Waits for all that is on the stream. TN_ERROR_DEVICE: some of it failed. */
TN_EXPORT tn_status tn_stream_wait(tn_stream *stream);
/* The device's own stream, a cudaStream_t on CUDA; for tn_context_set_stream. It has the lifetime
 * of the stream. Null on the processor. */
TN_EXPORT void *tn_stream_native(const tn_stream *stream);

/* A point on a stream. */
TN_EXPORT tn_status tn_event_create(tn_device_handle *device, tn_event **out_event);
TN_EXPORT void tn_event_destroy(tn_event *event); /* null is fine */
/* The event is behind what is on the stream now; recorded again, it is another point. */
TN_EXPORT tn_status tn_event_record(tn_event *event, tn_stream *stream);
/* The stream (of the same device) waits for the event; the host, where it is null, which may wait
 * for what is on the event's stream behind it, too. TN_ERROR_STATE: it was never recorded. */
TN_EXPORT tn_status tn_event_wait(tn_event *event, tn_stream *stream);
/* Whether it was reached, without waiting. TN_ERROR_STATE: it was never recorded;
 * TN_ERROR_UNSUPPORTED: the device cannot be asked. */
TN_EXPORT tn_status tn_event_query(tn_event *event, bool *out_is_done);
/* The nanoseconds between two events of one device that were reached. TN_ERROR_STATE: one was not
 * recorded. */
TN_EXPORT tn_status tn_event_elapsed(tn_event *from, tn_event *to, double *out_ns);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from, to, on and between devices. See device_memory.h. */
#include "plugin/device_memory/device_memory.h"
#include "base/status.h"

#define STAGED_BYTES ((uint64_t)4 << 20) /* of the host's memory between two devices */

static tn_status copy_bytes(tn_device_handle *handle, void *to, const void *from, uint64_t bytes,
                            uint32_t direction, const tn_stream *stream) {
    void *native = NULL;
    TN_TRY(tn_device_handle_stream(handle, stream, &native));
    TN_TRY(tn_device_handle_check(handle, to, bytes, direction == TN_COPY_TO_HOST, "`to`"));
    TN_TRY(tn_device_handle_check(handle, from, bytes, direction == TN_COPY_TO_DEVICE, "`from`"));
    if (bytes == 0) return TN_OK;
    const tn_status status =
        handle->device->copy(handle->device, to, from, bytes, direction, native);
    return tn_device_handle_finish(handle, stream, status, "a copy");
}

tn_status tn_device_copy_to_device(tn_device_handle *device, void *to, const void *from,
                                   uint64_t bytes, tn_stream *stream) {
    return copy_bytes(device, to, from, bytes, TN_COPY_TO_DEVICE, stream);
}

tn_status tn_device_copy_to_host(tn_device_handle *device, void *to, const void *from,
                                 uint64_t bytes, tn_stream *stream) {
    return copy_bytes(device, to, from, bytes, TN_COPY_TO_HOST, stream);
}

tn_status tn_device_copy_on_device(tn_device_handle *device, void *to, const void *from,
                                   uint64_t bytes, tn_stream *stream) {
    return copy_bytes(device, to, from, bytes, TN_COPY_ON_DEVICE, stream);
}

tn_status tn_device_copy_from(tn_device_handle *device, void *to, tn_device_handle *from_device,
                              const void *from, uint64_t bytes, tn_stream *stream) {
    void *native = NULL, *staged = NULL;
    TN_TRY(tn_device_handle_stream(device, stream, &native));
    if (!from_device) return tn_fail(TN_ERROR_ARGUMENT, "the device of `from` is null");
    if (device->device == from_device->device) {
        TN_TRY(tn_device_handle_check(from_device, from, bytes, false, "`from`"));
        return copy_bytes(device, to, from, bytes, TN_COPY_ON_DEVICE, stream);
    }
    TN_TRY(tn_device_handle_check(device, to, bytes, false, "`to`"));
    TN_TRY(tn_device_handle_check(from_device, from, bytes, false, "`from`"));
    if (bytes == 0) return TN_OK;
    if (stream) TN_TRY(tn_stream_wait(stream)); /* `to` may be in use there */
    TN_TRY(tn_device_host_allocate(device, bytes < STAGED_BYTES ? bytes : STAGED_BYTES, &staged));
    tn_status status = TN_OK;
    for (uint64_t at = 0; at < bytes && status == TN_OK; at += STAGED_BYTES) {
        const uint64_t count = bytes - at < STAGED_BYTES ? bytes - at : STAGED_BYTES;
        status =
            copy_bytes(from_device, staged, (const char *)from + at, count, TN_COPY_TO_HOST, NULL);
        if (status == TN_OK)
            status = copy_bytes(device, (char *)to + at, staged, count, TN_COPY_TO_DEVICE, NULL);
    }
    (void)tn_device_host_free(device, staged);
    return status;
}

tn_status tn_device_fill(tn_device_handle *device, void *to, uint8_t byte, uint64_t bytes,
                         tn_stream *stream) {
    void *native = NULL;
    TN_TRY(tn_device_handle_stream(device, stream, &native));
    TN_TRY(tn_device_handle_check(device, to, bytes, false, "`to`"));
    if (bytes == 0) return TN_OK;
    const tn_status status = device->device->fill(device->device, to, byte, bytes, native);
    return tn_device_handle_finish(device, stream, status, "filling memory");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies constants of a kernel to the device, in prepare. */
#ifndef TENON_KIT_CUDA_UPLOAD_H
#define TENON_KIT_CUDA_UPLOAD_H

#include <tenon/plugin.h>
#include <tenon/plugin/device.h>

/* Copies `bytes` of host memory to new memory of the call's device and waits for that, so that the
 * host's may go; the caller gives the new memory back by the device's deallocate. */
static inline tn_status tn_cuda_upload(tn_call *call, const void *from, uint64_t bytes,
                                       void **out_memory) {
    const tn_device *device = call->device;
    void *memory = NULL;
    tn_status status = device->allocate(device, bytes, call->stream, &memory);
    if (status == TN_OK)
        status = device->copy(device, memory, from, bytes, TN_COPY_TO_DEVICE, call->stream);
    if (status == TN_OK) status = device->stream_wait(device, call->stream);
    if (status != TN_OK) {
        if (memory) device->deallocate(device, memory, call->stream);
        return call->host->fail(call, status, "bringing %llu bytes of weights to the device: %s",
                                (unsigned long long)bytes, device->last_error(device));
    }
    *out_memory = memory;
    return TN_OK;
}

#endif

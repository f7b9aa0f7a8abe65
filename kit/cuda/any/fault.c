/* SPDX-License-Identifier: Apache-2.0 */
/* The words of fault.h, in memory that the GPU and the host reach by one address. */
#include "kit/cuda/any/fault.h"
#include <tenon/plugin/device.h>

#include <string.h>

tn_status tn_cuda_fault_open(tn_call *call) {
    void *words = NULL;
    const tn_device *device = call->device;
    const tn_status status = device->host_allocate(device, sizeof(tn_cuda_fault), &words);
    if (status != TN_OK)
        return call->host->fail(call, status, "no pinned memory for a node's status: %s",
                                device->last_error(device));
    call->context = memset(words, 0, sizeof(tn_cuda_fault));
    return TN_OK;
}

void tn_cuda_fault_close(tn_call *call) {
    call->device->host_deallocate(call->device, call->context);
    call->context = NULL;
}

tn_status tn_cuda_fault_verify(tn_call *call) {
    volatile tn_cuda_fault *fault = call->context;
    if (!fault->is_set) return TN_OK;
    const long long index = fault->index, low = fault->low, high = fault->high;
    fault->is_set = 0;
    return call->host->fail(call, TN_ERROR_RANGE, "index %lld is outside %lld..%lld", index, low,
                            high);
}

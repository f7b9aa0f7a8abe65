/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's errors as statuses and texts, a thread's own; declared in cuda.h. After some errors every
 * further call on that GPU fails until the process ends: the first of them is kept with the GPU,
 * and is what each later call says.
 */
#include "cuda.h"

#include <stdatomic.h>
#include <stdio.h>

static _Thread_local char last_error[TN_CUDA_ERROR_BYTES];

/* Whether the GPU is lost to this process. */
static bool is_lasting(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
        return true;
    default:
        return false;
    }
}

static tn_cuda_device *device_of(const tn_device *device) {
    return device->user;
}

/* The first one stays. */
static void lose(tn_cuda_device *device, cudaError_t error, const char *doing) {
    pthread_mutex_lock(&device->lock);
    if (!atomic_load(&device->is_lost)) {
        snprintf(device->lost, sizeof(device->lost),
                 "%s: %s (%s): this process can use GPU %d no more, a new one can", doing,
                 cudaGetErrorString(error), cudaGetErrorName(error), device->ordinal);
        atomic_store(&device->is_lost, true);
    }
    pthread_mutex_unlock(&device->lock);
}

tn_status tn_cuda_error_set(const tn_device *device, cudaError_t error, const char *doing) {
    tn_cuda_device *own = device_of(device);
    if (error == cudaSuccess) return TN_OK;
    const bool was_lost = atomic_load(&own->is_lost);
    (void)cudaGetLastError(); /* what does not last is not found again by the next call */
    if (is_lasting(error)) lose(own, error, doing);
    if (was_lost)
        snprintf(last_error, sizeof(last_error), "%s after %s", doing, own->lost);
    else if (atomic_load(&own->is_lost))
        snprintf(last_error, sizeof(last_error), "%s", own->lost);
    else
        snprintf(last_error, sizeof(last_error), "%s: %s (%s)", doing, cudaGetErrorString(error),
                 cudaGetErrorName(error));
    return error == cudaErrorMemoryAllocation ? TN_ERROR_MEMORY : TN_ERROR_DEVICE;
}

tn_status tn_cuda_error_set_text(tn_status status, const char *text) {
    snprintf(last_error, sizeof(last_error), "%s", text);
    return status;
}

const char *tn_cuda_error_text(const tn_device *device) {
    (void)device;
    return last_error;
}

/* A kernel may have seen the error, and not this library: an idle stream tells. */
tn_status tn_cuda_check(const tn_device *device) {
    tn_cuda_device *own = device_of(device);
    if (!atomic_load(&own->is_lost)) {
        const int before = tn_cuda_device_enter(device);
        const cudaError_t error = cudaStreamQuery(cudaStreamPerThread);
        tn_cuda_device_leave(device, before);
        if (!is_lasting(error)) {
            if (error != cudaErrorNotReady) (void)cudaGetLastError();
            return TN_OK;
        }
        lose(own, error, "running kernels");
    }
    (void)cudaGetLastError();
    return tn_cuda_error_set_text(TN_ERROR_DEVICE, own->lost);
}

tn_status tn_cuda_check_launch(const tn_device *device) {
    return tn_cuda_error_set(device, cudaGetLastError(), "a launch");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's errors as statuses and texts, a thread's own; declared in cuda.h. */
#include "cuda.h"

#include <stdio.h>

static _Thread_local char last_error[400];

/* After these every further call of the process fails, until it ends. */
static bool is_sticky(cudaError_t error) {
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

tn_status tn_cuda_error_set(cudaError_t error, const char *doing) {
    if (error == cudaSuccess) return TN_OK;
    snprintf(last_error, sizeof(last_error), "%s: %s (%s)%s", doing, cudaGetErrorString(error),
             cudaGetErrorName(error),
             is_sticky(error) ? ": a kernel before this one broke this process's use of the GPU; "
                                "only a new process can use it again"
                              : "");
    (void)cudaGetLastError(); /* what is not sticky is not found again by the next call */
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

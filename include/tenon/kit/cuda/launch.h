/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every CUDA kernel's callbacks do around a launch: the right GPU for the calling thread, how
 * many blocks, and the error that a launch gave. For C and for CUDA C++.
 */
#ifndef TENON_KIT_CUDA_LAUNCH_H
#define TENON_KIT_CUDA_LAUNCH_H

#include <cuda_runtime_api.h>
#include <tenon/plugin.h>
#include <tenon/plugin/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements that one launch may count: indices are 32-bit. */
#define TN_CUDA_MOST_ELEMENTS ((int64_t)0x7fffffff)

/* Makes the call's GPU the thread's current one and answers the one that was, for tn_cuda_leave. */
static inline int tn_cuda_enter(const tn_call *call) {
    int before = -1;
    if (cudaGetDevice(&before) != cudaSuccess) return -1;
    if (before != (int)call->device->index) (void)cudaSetDevice((int)call->device->index);
    return before;
}
static inline void tn_cuda_leave(const tn_call *call, int before) {
    if (before >= 0 && before != (int)call->device->index) (void)cudaSetDevice(before);
}

/* The reason of a CUDA call's failure, for the node; TN_OK for cudaSuccess. */
static inline tn_status tn_cuda_status(tn_call *call, cudaError_t error, const char *doing) {
    if (error == cudaSuccess) return TN_OK;
    (void)cudaGetLastError();
    return call->host->fail(
        call, error == cudaErrorMemoryAllocation ? TN_ERROR_MEMORY : TN_ERROR_DEVICE, "%s: %s (%s)",
        doing, cudaGetErrorString(error), cudaGetErrorName(error));
}

/* Blocks for `items` with `each` of them a block, at most `most`: the kernel then goes round. */
static inline unsigned int tn_cuda_blocks(int64_t items, int64_t each, int64_t most) {
    const int64_t blocks = (items + each - 1) / each;
    return (unsigned int)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

#ifdef __cplusplus
}
#endif

#endif

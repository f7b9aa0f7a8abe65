/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel finds wrong in its data while it runs: an index outside its axis. The words lie in
 * pinned memory of the host, a context's for each node; a kernel writes there, and leaves out what
 * it cannot do. Whoever waits for the run reads them (tn_kernel.verify). For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_FAULT_H
#define TN_KIT_CUDA_ANY_FAULT_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `is_set` is written last. Of several faults of a run any one may be kept. */
typedef struct tn_cuda_fault {
    uint32_t is_set, reserved;
    int64_t index, low, high; /* an index that is not within low ... high */
} tn_cuda_fault;

/* call->context: the words of a node. `open` and `close` of its kernels. */
tn_status tn_cuda_fault_open(tn_call *call) TN_NOEXCEPT;
void tn_cuda_fault_close(tn_call *call) TN_NOEXCEPT;
/* TN_OK, or TN_ERROR_RANGE with what was found, once: the words are cleared. [called: the stream
 * was waited for] */
tn_status tn_cuda_fault_verify(tn_call *call) TN_NOEXCEPT;

static inline tn_cuda_fault *tn_cuda_fault_of(const tn_call *call) {
    return (tn_cuda_fault *)call->context;
}

#if defined(__CUDACC__) || defined(TN_CUDA_ON_HOST)
/* Whether the index is one of low ... high; a fault where not. */
static __device__ __forceinline__ bool tn_fault_within(tn_cuda_fault *fault, int64_t index,
                                                       int64_t low, int64_t high) {
    if (index >= low && index <= high) return true;
    if (fault) {
        ((volatile tn_cuda_fault *)fault)->index = index;
        ((volatile tn_cuda_fault *)fault)->low = low;
        ((volatile tn_cuda_fault *)fault)->high = high;
        __threadfence_system();
        ((volatile tn_cuda_fault *)fault)->is_set = 1;
    }
    return false;
}
/* Index as one of 0 ... extent - 1, negative ones counted from the end; -1, and a fault: outside.
 */
static __device__ __forceinline__ int64_t tn_fault_index(tn_cuda_fault *fault, int64_t index,
                                                         int64_t extent) {
    if (!tn_fault_within(fault, index, -extent, extent - 1)) return -1;
    return index < 0 ? index + extent : index;
}
#endif

#ifdef __cplusplus
}
#endif

#endif

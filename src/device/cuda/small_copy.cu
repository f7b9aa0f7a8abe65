/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a few kilobytes between pinned memory of the host and the GPU's, by threads of a kernel
 * that reach over the bus: in a captured graph they cost what a kernel does, where a copy by the
 * GPU's copy engines costs the change from one to the other and back. Declared in cuda.h.
 */
#include "cuda.h"
#include "early.cuh"

#include <stdint.h>

namespace {

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS)
    copy_pieces(uint4 *to, const uint4 *from, uint32_t pieces, uint32_t rest) {
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    wait_for_last();
    if (i < pieces) to[i] = from[i];
    if (i < rest) ((uint8_t *)(to + pieces))[i] = ((const uint8_t *)(from + pieces))[i];
}

} // namespace

extern "C" bool tn_cuda_small_copy_fits(const void *to, const void *from, uint64_t bytes,
                                        const void *host) {
    cudaPointerAttributes attributes;
    if (bytes > TN_CUDA_SMALL_COPY_BYTES || ((uintptr_t)to | (uintptr_t)from) % sizeof(uint4) != 0)
        return false;
    if (cudaPointerGetAttributes(&attributes, host) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeHost && attributes.devicePointer == host;
}

extern "C" cudaError_t tn_cuda_small_copy(void *to, const void *from, uint64_t bytes,
                                          cudaStream_t stream) {
    const uint32_t pieces = (uint32_t)(bytes / sizeof(uint4));
    const uint32_t rest = (uint32_t)(bytes % sizeof(uint4));
    const uint32_t threads = pieces > rest ? pieces : rest;
    return launch_early(copy_pieces, (threads + THREADS - 1) / THREADS, THREADS, stream,
                        (uint4 *)to, (const uint4 *)from, pieces, rest);
}

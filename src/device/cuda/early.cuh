/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the device that are launched while the kernel before still runs, and wait for what
 * that one writes: as those of tenon/kit/cuda/launch.cuh, which a device does not stand on.
 */
#ifndef TN_DEVICE_CUDA_EARLY_CUH
#define TN_DEVICE_CUDA_EARLY_CUH

#include <cuda_runtime.h>

namespace {

/* Before anything is read or written. */
__device__ __forceinline__ void wait_for_last() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <typename... P, typename... A>
cudaError_t launch_early(void (*kernel)(P...), dim3 blocks, dim3 threads, cudaStream_t stream,
                         const A &...arguments) {
    int device = 0, major = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = major == 9 ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, (P)arguments...);
}

} // namespace

#endif

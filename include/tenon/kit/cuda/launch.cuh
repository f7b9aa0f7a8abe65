/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of kernels so short that starting them is much of their time: such a kernel may start
 * while the one before it in the stream still runs, load its constants, and then wait for what
 * that one writes ("CUDA C++ programming guide", programmatic dependent launch). GPUs of compute
 * capability 9 only, for which code is compiled in; elsewhere it is a launch like any other.
 *
 * A kernel that is launched so calls tn_cuda_start_next(), at its beginning or behind the wait, and
 * tn_cuda_wait_for_last() in every thread and on every path before it reads what is no constant or
 * writes anything, and reads what others write by plain loads: those of __ldg may be moved in front
 * of the wait.
 */
#ifndef TENON_KIT_CUDA_LAUNCH_CUH
#define TENON_KIT_CUDA_LAUNCH_CUH

#include <tenon/kit/cuda/dependent.cuh>

#include <cuda_runtime.h>

/* Has a number computed here, not where it is used: before the wait, while there is time. */
static __device__ __forceinline__ void tn_cuda_keep(int &number) {
    asm volatile("" : "+r"(number));
}
template <typename T> static __device__ __forceinline__ void tn_cuda_keep(T *&pointer) {
    asm volatile("" : "+l"(pointer));
}

template <typename... P, typename... A>
static cudaError_t tn_cuda_launch_early(void (*kernel)(P...), dim3 grid, dim3 block, size_t bytes,
                                        cudaStream_t stream, const A &...arguments) {
    int device = 0, major = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = major == 9 ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, (P)arguments...);
}

#endif

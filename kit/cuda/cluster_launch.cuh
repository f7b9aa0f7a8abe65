/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of kernels whose blocks work in clusters (cluster.cuh). Compute capability 9.0. */
#ifndef TN_KIT_CUDA_CLUSTER_LAUNCH_CUH
#define TN_KIT_CUDA_CLUSTER_LAUNCH_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Multiprocessors of the current GPU; 0: it has not what kernels with clusters need. */
static int tn_cuda_cluster_processors() {
    int device = 0, major = 0, processors = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return major == 9 ? processors : 0;
}

/* A grid each row of which, along x, is a cluster, with `bytes` of dynamic shared memory; early
 * (tenon/kit/cuda/launch.cuh). `is_spread`: not two blocks of a cluster to a multiprocessor while
 * others have none. */
template <typename... P, typename... A>
static cudaError_t tn_cuda_launch_cluster(void (*kernel)(P...), dim3 grid, unsigned int threads,
                                          int64_t bytes, bool is_spread, cudaStream_t stream,
                                          const A &...arguments) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute attributes[3] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = grid.x;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    attributes[2].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[2].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = is_spread ? 3 : 2;
    return cudaLaunchKernelEx(&config, kernel, (P)arguments...);
}

#endif

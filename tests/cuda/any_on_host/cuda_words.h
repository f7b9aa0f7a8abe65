/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few words of CUDA C++ for the C++ compiler, included before a source of kit/cuda/any: its
 * kernels run on the processor, blocks of one thread one after the other.
 */
#ifndef TN_TESTS_CUDA_ANY_ON_HOST_WORDS_H
#define TN_TESTS_CUDA_ANY_ON_HOST_WORDS_H

#define TN_CUDA_ON_HOST
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <vector_types.h>

#undef __device__
#undef __global__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __shared__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local

static thread_local struct { unsigned int x; } threadIdx, blockIdx, gridDim, blockDim;

static inline void __syncthreads() {}
static inline void __threadfence_system() {}
static inline float __fmul_rn(float a, float b) {
    return a * b;
}
static inline float __fdiv_rn(float a, float b) {
    return a / b;
}
template <typename WORD> static inline WORD atomicCAS(WORD *at, WORD seen, WORD now) {
    const WORD old = *at;
    if (old == seen) *at = now;
    return old;
}

template <typename NUMBER> static inline NUMBER atomicAdd(NUMBER *at, NUMBER more) {
    const NUMBER old = *at;
    *at += more;
    return old;
}
static inline int atomicMax(int *at, int other) {
    const int old = *at;
    if (other > old) *at = other;
    return old;
}

template <typename F, typename... A>
static inline void tn_host_launch(void (*kernel)(const F, A...), unsigned int blocks,
                                  const F &function, A... more) {
    gridDim.x = blocks < 3 ? blocks : 3; /* enough to see that blocks share the work */
    blockDim.x = 1;
    threadIdx.x = 0;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        kernel(function, more...);
}

#include <tenon/kit/cuda/divider.h>
static inline uint32_t tn_divide_rest(uint32_t number, const tn_divider &d, uint32_t *rest) {
    *rest = number % d.divisor;
    return number / d.divisor;
}

/* Launches are done when they return. */
static inline cudaError_t tn_host_no_error() {
    return cudaSuccess;
}
#define cudaGetLastError tn_host_no_error
static inline cudaError_t tn_host_copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return cudaSuccess;
}
#define cudaMemcpyAsync(to, from, bytes, kind, stream) tn_host_copy(to, from, bytes)
static inline cudaError_t tn_host_fill(void *to, int byte, size_t bytes) {
    memset(to, byte, bytes);
    return cudaSuccess;
}
static inline cudaError_t tn_host_wait() {
    return cudaSuccess;
}
#define cudaStreamSynchronize(stream)            tn_host_wait()
#define cudaMemsetAsync(to, byte, bytes, stream) tn_host_fill(to, byte, bytes)

#endif

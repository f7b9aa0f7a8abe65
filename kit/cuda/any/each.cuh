/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's part of each.h: a function object for every item of a count, positions in boxes, and
 * what the threads of a block make of a number of each. A block may have any number of threads, one
 * among them: so the same kernels run on the processor, where they are tested without a GPU
 * (tests/cuda/any_on_host).
 */
#ifndef TN_KIT_CUDA_ANY_EACH_CUH
#define TN_KIT_CUDA_ANY_EACH_CUH

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/element.cuh"

#ifdef TN_CUDA_ON_HOST
#define TN_CUDA_GO(kernel, blocks, threads, stream, ...) tn_host_launch(kernel, blocks, __VA_ARGS__)
#else
#include <tenon/kit/cuda/number.cuh>
#define TN_CUDA_GO(kernel, blocks, threads, stream, ...)                                           \
    kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#endif

enum { TN_CUDA_ANY_THREADS = 256, TN_CUDA_ANY_WARPS = 32 };

/* function(i) for every i below count. */
template <typename F>
__global__ void __launch_bounds__(TN_CUDA_ANY_THREADS)
    tn_each(const __grid_constant__ F function, int64_t count) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        function(i);
}
template <typename F>
static cudaError_t tn_each_launch(const F &function, int64_t count, cudaStream_t stream) {
    if (count <= 0) return cudaSuccess;
    (void)stream;
    TN_CUDA_GO(tn_each<F>, tn_cuda_blocks(count, TN_CUDA_ANY_THREADS, 1 << 16), TN_CUDA_ANY_THREADS,
               stream, function, count);
    return cudaGetLastError();
}

/* function(i) for every i below count, by a block each: `threads` is a multiple of 32, at most
 * 1024. */
template <typename F>
__global__ void __launch_bounds__(1024)
    tn_each_block(const __grid_constant__ F function, int64_t count) {
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x)
        function(i);
}
template <typename F>
static cudaError_t tn_each_block_launch(const F &function, int64_t count, int64_t work,
                                        cudaStream_t stream) {
    if (count <= 0) return cudaSuccess;
    (void)stream;
    int threads = 32;
    while (threads < 512 && threads * 2 <= work)
        threads *= 2;
    (void)threads;
    TN_CUDA_GO(tn_each_block<F>, tn_cuda_blocks(count, 1, 1 << 16), threads, stream, function,
               count);
    return cudaGetLastError();
}

/* Where element `at` of the box lies in tensors 0 ... COUNT - 1. */
template <int COUNT>
static __device__ __forceinline__ void tn_box_find(const tn_cuda_box &box, uint32_t at,
                                                   int64_t (&offsets)[COUNT]) {
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        offsets[k] = 0;
    for (int i = (int)box.rank - 1; i >= 0; i--) {
        uint32_t index = at;
        if (i > 0) at = tn_divide_rest(at, box.extents[i], &index);
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            offsets[k] += index * box.steps[k][i];
    }
}
/* The index along each axis. */
static __device__ __forceinline__ void tn_box_index(const tn_cuda_box &box, uint32_t at,
                                                    int64_t *index) {
    for (int i = (int)box.rank - 1; i >= 0; i--) {
        uint32_t rest = at;
        if (i > 0) at = tn_divide_rest(at, box.extents[i], &rest);
        index[i] = rest;
    }
}

/* The lanes of a warp, which on the processor has one. */
#ifdef TN_CUDA_ON_HOST
enum { TN_CUDA_ANY_LANES = 1 };
#else
enum { TN_CUDA_ANY_LANES = 32 };
#endif

/* What the lanes of a warp hold, joined by JOIN(a, b), which is associative and commutative; all
 * get it. T is of 4 or 8 bytes. */
template <typename JOIN, typename T>
static __device__ __forceinline__ T tn_warp_join(T value, const JOIN &join) {
#ifndef TN_CUDA_ON_HOST
    for (int step = TN_CUDA_ANY_LANES / 2; step > 0; step /= 2)
        value = join(value, __shfl_xor_sync(0xffffffffu, value, step));
#endif
    return value;
}

/* What all threads of the block hold, joined by JOIN(a, b), which is associative and commutative;
 * all get it. T is of 4 or 8 bytes. */
template <typename JOIN, typename T>
static __device__ __forceinline__ T tn_block_join(T value, const JOIN &join) {
#ifndef TN_CUDA_ON_HOST
    __shared__ T shared[TN_CUDA_ANY_WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
    value = tn_warp_join(value, join);
    if (warps == 1) return value;
    __syncthreads(); /* what was there before has been read */
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < warps; i++)
        value = join(value, shared[i]);
#endif
    return value;
}
struct tn_join_sum {
    template <typename T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
struct tn_join_most { /* NaN where one is */
    __device__ __forceinline__ double operator()(double a, double b) const {
        return isnan(a) || isnan(b) ? a + b : a > b ? a : b;
    }
};
template <typename T> static __device__ __forceinline__ T tn_warp_sum(T value) {
    return tn_warp_join(value, tn_join_sum());
}
template <typename T> static __device__ __forceinline__ T tn_block_sum(T value) {
    return tn_block_join(value, tn_join_sum());
}
static __device__ __forceinline__ double tn_block_most(double value) {
    return tn_block_join(value, tn_join_most());
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax on the GPU: the largest element of a lane, the sum of exponentials, then the quotients,
 * or for LogSoftmax the differences.
 * What is read again comes from the caches.
 */
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/reduce/softmax_job.h"
#include <tenon/kit/cuda/warp.cuh>

#include <math.h>

namespace {

enum { WARP = 32, WARPS = 8, THREADS = WARP * WARPS, LONGEST_OF_A_WARP = 1024 };
const int64_t MOST_BLOCKS = 1 << 20;

__device__ __forceinline__ float value(bool is_logarithm, float x, float largest, float sum) {
    return is_logarithm ? x - largest - logf(sum) : __fdiv_rn(expf(x - largest), sum);
}

/* A warp a lane whose elements lie beside each other. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    warp_lanes(bool is_logarithm, const T *x, T *y, int64_t outer, int64_t count) {
    const int64_t step = (int64_t)gridDim.x * WARPS;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.y; row < outer; row += step) {
        const T *from = x + row * count;
        float largest = -INFINITY, sum = 0;
        for (int64_t i = threadIdx.x; i < count; i += WARP)
            largest = fmaxf(largest, tn_number_load(from[i], 0));
        largest = tn_warp_largest(largest);
        for (int64_t i = threadIdx.x; i < count; i += WARP)
            sum += expf(tn_number_load(from[i], 0) - largest);
        sum = tn_warp_sum(sum);
        for (int64_t i = threadIdx.x; i < count; i += WARP)
            tn_number_store(y + row * count + i,
                            value(is_logarithm, tn_number_load(from[i], 0), largest, sum), 0);
    }
}

/* What all threads of the block hold, joined; all get it. */
template <bool IS_SUM> __device__ __forceinline__ float block_join(float value, float *shared) {
    value = IS_SUM ? tn_warp_sum(value) : tn_warp_largest(value);
    __syncthreads(); /* what was there before has been read */
    if (threadIdx.x == 0) shared[threadIdx.y] = value;
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < WARPS; i++)
        value = IS_SUM ? value + shared[i] : fmaxf(value, shared[i]);
    return value;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    block_lanes(bool is_logarithm, const T *x, T *y, int64_t outer, int64_t count) {
    __shared__ float shared[WARPS];
    const int thread = (int)(threadIdx.y * WARP + threadIdx.x);
    for (int64_t row = blockIdx.x; row < outer; row += gridDim.x) {
        const T *from = x + row * count;
        float largest = -INFINITY, sum = 0;
        for (int64_t i = thread; i < count; i += THREADS)
            largest = fmaxf(largest, tn_number_load(from[i], 0));
        largest = block_join<false>(largest, shared);
        for (int64_t i = thread; i < count; i += THREADS)
            sum += expf(tn_number_load(from[i], 0) - largest);
        sum = block_join<true>(sum, shared);
        for (int64_t i = thread; i < count; i += THREADS)
            tn_number_store(y + row * count + i,
                            value(is_logarithm, tn_number_load(from[i], 0), largest, sum), 0);
    }
}

/* A thread a lane; neighbours do lanes beside each other. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    thread_lanes(bool is_logarithm, const T *x, T *y, tn_lanes lanes) {
    const int64_t step = (int64_t)gridDim.x * THREADS, all = lanes.outer * lanes.inner;
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < all; at += step) {
        const int64_t first = at / lanes.inner * lanes.count * lanes.inner + at % lanes.inner;
        float largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < lanes.count; i++)
            largest = fmaxf(largest, tn_number_load(x[first + i * lanes.inner], 0));
        for (int64_t i = 0; i < lanes.count; i++)
            sum += expf(tn_number_load(x[first + i * lanes.inner], 0) - largest);
        for (int64_t i = 0; i < lanes.count; i++) {
            const int64_t element = first + i * lanes.inner;
            tn_number_store(y + element,
                            value(is_logarithm, tn_number_load(x[element], 0), largest, sum), 0);
        }
    }
}

template <typename T>
cudaError_t launch_as(bool is_logarithm, const void *x, void *y, const tn_lanes *lanes,
                      cudaStream_t stream) {
    const dim3 threads(WARP, WARPS);
    if (lanes->inner > 1)
        thread_lanes<T><<<tn_cuda_blocks(lanes->outer * lanes->inner, THREADS, MOST_BLOCKS),
                          THREADS, 0, stream>>>(is_logarithm, (const T *)x, (T *)y, *lanes);
    else if (lanes->count <= LONGEST_OF_A_WARP)
        return tn_cuda_launch_early(warp_lanes<T>, tn_cuda_blocks(lanes->outer, WARPS, MOST_BLOCKS),
                                    threads, 0, stream, is_logarithm, x, y, lanes->outer,
                                    lanes->count);
    else
        block_lanes<T><<<tn_cuda_blocks(lanes->outer, 1, MOST_BLOCKS), threads, 0, stream>>>(
            is_logarithm, (const T *)x, (T *)y, lanes->outer, lanes->count);
    return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t tn_cuda_softmax_launch(tn_type type, bool is_logarithm, const void *x,
                                              void *y, const tn_lanes *lanes, cudaStream_t stream) {
    switch (type) {
    case TN_F32:
        return launch_as<float>(is_logarithm, x, y, lanes, stream);
    case TN_F16:
        return launch_as<__half>(is_logarithm, x, y, lanes, stream);
    default:
        return launch_as<__nv_bfloat16>(is_logarithm, x, y, lanes, stream);
    }
}

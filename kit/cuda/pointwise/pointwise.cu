/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of pointwise.h. A thread does 16 bytes of the output: memory is what they wait for,
 * so the operation is a number that is looked at once for four elements, and one kernel a type
 * serves all operators.
 */
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/pointwise/elements.cuh"
#include "kit/cuda/pointwise/map.cuh"
#include "kit/cuda/pointwise/pointwise_job.h"

namespace {

enum { THREADS = TN_CUDA_ELEMENTS_THREADS };
const int64_t MOST_BLOCKS = 1 << 20;

template <typename T>
__global__ void __launch_bounds__(THREADS) map(const __grid_constant__ tn_cuda_map_job job) {
    constexpr int EACH = tn_pack<T>::count;
    const T *from = (const T *)job.x;
    T *to = (T *)job.y;
    const int64_t step = (int64_t)gridDim.x * THREADS * EACH;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t at = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH; at < job.count;
         at += step) {
        if (at + EACH <= job.count) {
            tn_pack<T> pack = tn_pack_load(from + at);
#pragma unroll
            for (int i = 0; i < EACH; i += 4) {
                float v[4];
                tn_pack_read(pack, i, job.x_scale, v);
                tn_chain_four(job.chain, v);
                tn_pack_write(pack, i, v, job.y_inverse);
            }
            tn_pack_store(to + at, pack);
            continue;
        }
        for (int64_t i = at; i < job.count; i++)
            tn_number_store(to + i, tn_chain_one(job.chain, tn_number_load(from[i], job.x_scale)),
                            job.y_inverse);
    }
}

__device__ __noinline__ float4 raise(float4 a, float4 b) {
    return make_float4(powf(a.x, b.x), powf(a.y, b.y), powf(a.z, b.z), powf(a.w, b.w));
}

/* Into a. */
template <uint32_t COMBINE> __device__ __forceinline__ void combine_each(float *a, const float *b) {
#pragma unroll
    for (int i = 0; i < 4; i++)
        a[i] = tn_combine_value<COMBINE>(a[i], b[i]);
}
__device__ __forceinline__ void combine_four(uint32_t combine, float *a, const float *b) {
    switch (combine) {
    case TN_COMBINE_ADD:
        return combine_each<TN_COMBINE_ADD>(a, b);
    case TN_COMBINE_SUB:
        return combine_each<TN_COMBINE_SUB>(a, b);
    case TN_COMBINE_MUL:
        return combine_each<TN_COMBINE_MUL>(a, b);
    case TN_COMBINE_DIV:
        return combine_each<TN_COMBINE_DIV>(a, b);
    case TN_COMBINE_MAX:
        return combine_each<TN_COMBINE_MAX>(a, b);
    case TN_COMBINE_MIN:
        return combine_each<TN_COMBINE_MIN>(a, b);
    case TN_COMBINE_PRELU:
        return combine_each<TN_COMBINE_PRELU>(a, b);
    default: {
        const float4 y =
            raise(make_float4(a[0], a[1], a[2], a[3]), make_float4(b[0], b[1], b[2], b[3]));
        a[0] = y.x, a[1] = y.y, a[2] = y.z, a[3] = y.w;
    }
    }
}

/* The function of elements.cuh. */
struct combination {
    const tn_cuda_combine_job &job;
    template <int N> __device__ __forceinline__ void operator()(float (&v)[2][N], float *y) const {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            combine_four(job.combine, v[0] + i, v[1] + i);
            tn_chain_four(job.chain, v[0] + i);
#pragma unroll
            for (int k = 0; k < 4; k++)
                y[i + k] = v[0][i + k];
        }
    }
    __device__ __forceinline__ void operator()(float (&v)[2][1], float *y) const {
        float a[4] = {v[0][0], v[0][0], v[0][0], v[0][0]};
        float b[4] = {v[1][0], v[1][0], v[1][0], v[1][0]};
        combine_four(job.combine, a, b);
        tn_chain_four(job.chain, a);
        y[0] = a[0];
    }
};

template <typename T, typename B>
__global__ void __launch_bounds__(THREADS)
    combine_narrow(const __grid_constant__ tn_cuda_combine_job job) {
    tn_elements_narrow<T, tn_elements_inputs<T, B>>(job.elements, combination{job});
}

/* A thread does 16 bytes of the output. */
template <typename T, typename B>
__global__ void __launch_bounds__(THREADS)
    combine_wide(const __grid_constant__ tn_cuda_combine_job job) {
    tn_elements_wide<tn_pack<T>::count, T, tn_elements_inputs<T, B>>(job.elements,
                                                                     combination{job});
}

/* ----------------------------------------------------------------------------------------------
 * host */

template <typename T, typename B>
cudaError_t combine_as(bool is_wide, const tn_cuda_combine_job *job, cudaStream_t stream) {
    const int64_t each = is_wide ? THREADS * tn_pack<T>::count : THREADS;
    const unsigned int blocks = tn_cuda_blocks(job->elements.count, each, MOST_BLOCKS);
    return tn_cuda_launch_early(is_wide ? combine_wide<T, B> : combine_narrow<T, B>, blocks,
                                THREADS, 0, stream, *job);
}

template <typename T> cudaError_t map_as(const tn_cuda_map_job *job, cudaStream_t stream) {
    const int64_t each = THREADS * tn_pack<T>::count;
    return tn_cuda_launch_early(map<T>, tn_cuda_blocks(job->count, each, MOST_BLOCKS), THREADS, 0,
                                stream, *job);
}

template <typename T>
cudaError_t combine_with(tn_type b_type, bool is_wide, const tn_cuda_combine_job *job,
                         cudaStream_t stream) {
    return b_type == TN_F32 ? combine_as<T, float>(is_wide, job, stream)
                            : combine_as<T, T>(is_wide, job, stream);
}

} // namespace

extern "C" cudaError_t tn_cuda_map_launch(tn_type type, const tn_cuda_map_job *job,
                                          cudaStream_t stream) {
    switch (type) {
    case TN_F32:
        return map_as<float>(job, stream);
    case TN_F16:
        return map_as<__half>(job, stream);
    case TN_BF16:
        return map_as<__nv_bfloat16>(job, stream);
    default:
        return map_as<int8_t>(job, stream);
    }
}

extern "C" cudaError_t tn_cuda_combine_launch(tn_type type, tn_type b_type, bool is_wide,
                                              const tn_cuda_combine_job *job, cudaStream_t stream) {
    switch (type) {
    case TN_F32:
        return combine_with<float>(b_type, is_wide, job, stream);
    case TN_F16:
        return combine_with<__half>(b_type, is_wide, job, stream);
    case TN_BF16:
        return combine_with<__nv_bfloat16>(b_type, is_wide, job, stream);
    default:
        return combine_with<int8_t>(b_type, is_wide, job, stream);
    }
}

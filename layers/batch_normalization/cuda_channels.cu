/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization of inference on the GPU; see cuda.c. */
#include "batch_normalization/cuda_job.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/pointwise/map.cuh"

namespace {

enum { THREADS = 256 };
const int64_t MOST_BLOCKS = 1 << 20;

typedef tn_batch_normalization_cuda_job job_of;

__device__ __forceinline__ void read_channel(const job_of &job, uint32_t channel, float *factor,
                                             float *shift) {
    *factor = __fdiv_rn(job.scale[channel], __fsqrt_rn(job.variance[channel] + job.epsilon));
    *shift = job.bias[channel] - job.mean[channel] * *factor;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    narrow(const __grid_constant__ job_of job, tn_divider inner, tn_divider channels) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < job.count; at += step) {
        uint32_t channel;
        float factor, shift;
        tn_divide_rest(tn_divide((uint32_t)at, inner), channels, &channel);
        read_channel(job, channel, &factor, &shift);
        const float x = tn_number_load(((const T *)job.x)[at], 0);
        tn_number_store((T *)job.y + at, tn_chain_one(job.chain, fmaf(x, factor, shift)), 0);
    }
}

/* 16 bytes a thread: of one channel where `inner` is a multiple of them, else of neighbours. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    wide(const __grid_constant__ job_of job, tn_divider inner, tn_divider channels) {
    constexpr int EACH = tn_pack<T>::count;
    const int64_t step = (int64_t)gridDim.x * THREADS * EACH;
    for (int64_t at = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH; at < job.count;
         at += step) {
        uint32_t channel;
        float factor = 0, shift = 0;
        tn_pack<T> pack = tn_pack_load((const T *)job.x + at);
        tn_divide_rest(tn_divide((uint32_t)at, inner), channels, &channel);
        if (job.inner > 1) read_channel(job, channel, &factor, &shift);
#pragma unroll
        for (int i = 0; i < EACH; i += 4) {
            float v[4];
            for (int k = 0; k < 4; k++) {
                if (job.inner == 1) read_channel(job, channel + i + k, &factor, &shift);
                v[k] = fmaf(tn_number_load(pack.items[i + k], 0), factor, shift);
            }
            tn_chain_four(job.chain, v);
            for (int k = 0; k < 4; k++)
                tn_number_store(&pack.items[i + k], v[k], 0);
        }
        tn_pack_store((T *)job.y + at, pack);
    }
}

template <typename T> cudaError_t launch_as(const job_of *job, cudaStream_t stream) {
    constexpr int EACH = tn_pack<T>::count;
    const tn_divider inner = tn_divider_make(job->inner), channels = tn_divider_make(job->channels);
    if ((job->inner == 1 ? job->channels : job->inner) % EACH == 0)
        wide<T><<<tn_cuda_blocks(job->count, THREADS * EACH, MOST_BLOCKS), THREADS, 0, stream>>>(
            *job, inner, channels);
    else
        narrow<T><<<tn_cuda_blocks(job->count, THREADS, MOST_BLOCKS), THREADS, 0, stream>>>(
            *job, inner, channels);
    return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t
tn_batch_normalization_cuda_launch(const tn_batch_normalization_cuda_job *job,
                                   cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return launch_as<float>(job, stream);
    case TN_F16:
        return launch_as<__half>(job, stream);
    default:
        return launch_as<__nv_bfloat16>(job, stream);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole planes to one element each; see pool.h. Linear planes are a warp's each. With channels last
 * a block does 32 packs of channels, eight threads of which share the places.
 */
#include "common/cuda/launch.h"
#include "common/cuda/number.cuh"
#include "common/cuda/pool_job.h"

#include <math.h>

namespace {

enum { WARP = 32, WARPS = 8 };
const int64_t MOST_BLOCKS = 1 << 20;

__device__ __forceinline__ float join(bool is_mean, float a, float b) {
    if (is_mean) return a + b;
    return b > a || isnan(b) ? b : a;
}

__device__ __forceinline__ float finish(const tn_cuda_plane_job &job, float result) {
    return job.is_mean ? __fdiv_rn(result, (float)job.places) : result;
}

template <typename T>
__global__ void __launch_bounds__(WARP *WARPS)
    reduce_rows(const __grid_constant__ tn_cuda_plane_job job) {
    for (int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.y; row < job.batch;
         row += (int64_t)gridDim.x * WARPS) {
        const T *from = (const T *)job.x + row * job.places;
        float result = job.is_mean ? 0.0f : -INFINITY;
        for (int64_t i = threadIdx.x; i < job.places; i += WARP)
            result = join(job.is_mean, result, tn_number_load(from[i], job.x_scale));
        for (int step = WARP / 2; step > 0; step /= 2)
            result = join(job.is_mean, result, __shfl_xor_sync(0xffffffffu, result, step));
        if (threadIdx.x == 0) tn_number_store((T *)job.y + row, finish(job, result), job.y_scale);
    }
}

template <typename T, int EACH>
__global__ void __launch_bounds__(WARP *WARPS)
    reduce_columns(const __grid_constant__ tn_cuda_plane_job job, int64_t groups) {
    __shared__ float shared[WARPS][EACH][WARP];
    const int64_t blocks = (groups + WARP - 1) / WARP;
    for (int64_t t = blockIdx.x; t < blocks * job.batch; t += gridDim.x) {
        const int64_t image = t / blocks, group = t % blocks * WARP + threadIdx.x;
        const bool is_there = group < groups;
        float result[EACH];
        for (int k = 0; k < EACH; k++)
            result[k] = job.is_mean ? 0.0f : -INFINITY;
        for (int64_t i = threadIdx.y; is_there && i < job.places; i += WARPS) {
            const T *at = (const T *)job.x + (image * job.places + i) * job.channels + group * EACH;
            if (EACH == 1) {
                result[0] = join(job.is_mean, result[0], tn_number_load(*at, job.x_scale));
                continue;
            }
            const tn_pack<T> pack = tn_pack_load(at);
#pragma unroll
            for (int k = 0; k < EACH; k++)
                result[k] =
                    join(job.is_mean, result[k], tn_number_load(pack.items[k], job.x_scale));
        }
        for (int k = 0; k < EACH; k++)
            shared[threadIdx.y][k][threadIdx.x] = result[k];
        __syncthreads();
        for (int k = threadIdx.y; is_there && k < EACH; k += WARPS) {
            float all = shared[0][k][threadIdx.x];
            for (int w = 1; w < WARPS; w++)
                all = join(job.is_mean, all, shared[w][k][threadIdx.x]);
            tn_number_store((T *)job.y + image * job.channels + group * EACH + k, finish(job, all),
                            job.y_scale);
        }
        __syncthreads();
    }
}

template <typename T> cudaError_t launch_as(const tn_cuda_plane_job *job, cudaStream_t stream) {
    constexpr int EACH = tn_pack<T>::count;
    const dim3 threads(WARP, WARPS);
    if (job->channels == 1) {
        reduce_rows<T>
            <<<tn_cuda_blocks(job->batch, WARPS, MOST_BLOCKS), threads, 0, stream>>>(*job);
    } else if (job->channels % EACH == 0) {
        const int64_t groups = job->channels / EACH, blocks = (groups + WARP - 1) / WARP;
        reduce_columns<T, EACH>
            <<<tn_cuda_blocks(blocks * job->batch, 1, MOST_BLOCKS), threads, 0, stream>>>(*job,
                                                                                          groups);
    } else {
        const int64_t blocks = (job->channels + WARP - 1) / WARP;
        reduce_columns<T, 1>
            <<<tn_cuda_blocks(blocks * job->batch, 1, MOST_BLOCKS), threads, 0, stream>>>(
                *job, job->channels);
    }
    return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t tn_cuda_plane_launch(const tn_cuda_plane_job *job, cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return launch_as<float>(job, stream);
    case TN_F16:
        return launch_as<__half>(job, stream);
    case TN_BF16:
        return launch_as<__nv_bfloat16>(job, stream);
    default:
        return launch_as<int8_t>(job, stream);
    }
}

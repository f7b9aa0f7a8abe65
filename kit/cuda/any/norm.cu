/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of norm_job.h. Mean, then variance around it, then the results. Rows of a few hundred
 * elements, as transformers have, are a warp's each, which holds them in registers; other lanes are
 * a block's each, and what is read again comes from the caches. Of halves and 32-bit floats sums
 * are taken in 32 bits a thread, and a thread has few; f64 is taken in its own precision.
 */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/norm_job.h"
#ifndef TN_CUDA_ON_HOST
#include <tenon/kit/cuda/launch.cuh>
#endif

namespace {

__device__ __forceinline__ float load(const float *x, int64_t at) {
    return x[at];
}
__device__ __forceinline__ float load(const __half *x, int64_t at) {
    return __half2float(x[at]);
}
__device__ __forceinline__ float load(const __nv_bfloat16 *x, int64_t at) {
    return __bfloat162float(x[at]);
}
__device__ __forceinline__ double load(const double *x, int64_t at) {
    return x[at];
}
__device__ __forceinline__ void store(float *y, int64_t at, float value) {
    y[at] = value;
}
__device__ __forceinline__ void store(__half *y, int64_t at, float value) {
    y[at] = __float2half_rn(value);
}
__device__ __forceinline__ void store(__nv_bfloat16 *y, int64_t at, float value) {
    y[at] = __float2bfloat16_rn(value);
}
__device__ __forceinline__ void store(double *y, int64_t at, double value) {
    y[at] = value;
}

/* An element of a scale or bias, in what is computed. */
__device__ __forceinline__ double weight(const void *from, tn_type type, int64_t at, double) {
    return tn_any_f64(from, type, at);
}
__device__ __forceinline__ float weight(const void *from, tn_type type, int64_t at, float) {
    if (type == TN_F32) return load((const float *)from, at);
    if (type == TN_F16) return load((const __half *)from, at);
    return (float)tn_any_f64(from, type, at);
}

/* T: of the elements; N: of what is computed. */
template <typename T, typename N> struct norm {
    tn_cuda_norm_job job;

    /* `first`: of the lane, where the box has no axes. */
    __device__ __forceinline__ void find(int64_t lane, int64_t first, int64_t i,
                                         int64_t (&at)[2]) const {
        if (job.box.rank > 0) {
            tn_box_find(job.box, (uint32_t)(lane * job.count + i), at);
            return;
        }
        at[0] = first;
        if (job.plane_step) at[0] += job.plane == 1 ? i : i / job.plane * job.plane_step;
        at[1] = at[0];
    }

    __device__ void operator()(int64_t lane) const {
        const T *x = (const T *)job.x + lane * job.count;
        N mean = 0, squares = 0;
        if (job.has_mean) {
            for (int64_t i = threadIdx.x; i < job.count; i += blockDim.x)
                mean += load(x, i);
            mean = tn_block_sum(mean) / (N)job.count;
        }
        for (int64_t i = threadIdx.x; i < job.count; i += blockDim.x) {
            const N apart = load(x, i) - mean;
            squares += apart * apart;
        }
        const double variance = (double)tn_block_sum(squares) / (double)job.count;
        const double inverse = 1 / sqrt(variance + job.epsilon);
        const int64_t first = lane % job.lane_period * job.lane_step;
        for (int64_t i = threadIdx.x; i < job.count; i += blockDim.x) {
            int64_t at[2];
            find(lane, first, i, at);
            N value =
                (load(x, i) - mean) * (N)inverse * weight(job.scale, job.scale_type, at[0], N());
            if (job.bias) value += weight(job.bias, job.bias_type, at[1], N());
            if (job.y_type == job.type)
                store((T *)job.y + lane * job.count, i, value);
            else
                tn_any_set_f64(job.y, job.y_type, lane * job.count + i, (double)value);
        }
        if (threadIdx.x != 0) return;
        if (job.mean) tn_any_set_f64(job.mean, job.stash_type, lane, (double)mean);
        if (job.inverse) tn_any_set_f64(job.inverse, job.stash_type, lane, inverse);
    }
};

/* Elements of a lane a thread, about, where lanes fill the multiprocessors: more threads make the
 * sums of a block, and the root that each of them takes, longer than the reading. Where there are
 * fewer lanes than MANY the latency of a thread's loads counts, so each has as few as can be. */
enum { ELEMENTS = 4, MANY = 1024 };

template <typename T, typename N>
cudaError_t launch(const tn_cuda_norm_job *job, cudaStream_t stream) {
    const norm<T, N> function = {*job};
    return tn_each_block_launch(function, job->lanes,
                                job->lanes < MANY ? job->count : job->count / ELEMENTS, stream);
}

/* ----------------------------------------------------------------------------------------------
 * rows in registers */

#ifdef TN_CUDA_ON_HOST
static inline void tn_cuda_start_next() {}
static inline void tn_cuda_wait_for_last() {}
#endif
enum {
    QUAD = 4,         /* elements that a thread reads at once */
    MOST_QUADS = 256, /* of a row: 1,024 elements, 32 a thread */
    ROW_WARPS = 4     /* of a block, where rows fill the multiprocessors */
};

template <typename T> struct alignas(QUAD * sizeof(T)) quad { T of[QUAD]; };

template <typename T>
__device__ __forceinline__ void load_quad(const void *from, int at, float (&to)[QUAD]) {
    const quad<T> both = ((const quad<T> *)from)[at];
#pragma unroll
    for (int i = 0; i < QUAD; i++)
        to[i] = load(both.of, i);
}

/* W: of scale and bias. EACH: quads of a thread. */
template <typename T, typename W, int EACH>
__global__ void __launch_bounds__(ROW_WARPS *TN_CUDA_ANY_LANES)
    norm_rows(const __grid_constant__ tn_cuda_norm_job job, int64_t rows) {
    const int lane = threadIdx.x % TN_CUDA_ANY_LANES, quads = (int)(job.count / QUAD);
    const int64_t step = (int64_t)gridDim.x * (blockDim.x / TN_CUDA_ANY_LANES);
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t row = (int64_t)blockIdx.x * (blockDim.x / TN_CUDA_ANY_LANES) +
                       threadIdx.x / TN_CUDA_ANY_LANES;
         row < rows; row += step) {
        const T *x = (const T *)job.x + row * job.count;
        float values[EACH][QUAD], mean = 0, squares = 0;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int at = k * TN_CUDA_ANY_LANES + lane;
#pragma unroll
            for (int i = 0; i < QUAD; i++)
                values[k][i] = 0;
            if (at < quads) load_quad<T>(x, at, values[k]);
#pragma unroll
            for (int i = 0; i < QUAD; i++)
                mean += values[k][i];
        }
        mean = job.has_mean ? tn_warp_sum(mean) / (float)job.count : 0;
#pragma unroll
        for (int k = 0; k < EACH; k++)
#pragma unroll
            for (int i = 0; i < QUAD && k * TN_CUDA_ANY_LANES + lane < quads; i++)
                squares += (values[k][i] - mean) * (values[k][i] - mean);
        const float variance = tn_warp_sum(squares) / (float)job.count + (float)job.epsilon;
        const float inverse = 1.0f / sqrtf(variance);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int at = k * TN_CUDA_ANY_LANES + lane;
            if (at >= quads) break;
            float scale[QUAD], bias[QUAD] = {0, 0, 0, 0};
            quad<T> y;
            load_quad<W>(job.scale, at, scale);
            if (job.bias) load_quad<W>(job.bias, at, bias);
#pragma unroll
            for (int i = 0; i < QUAD; i++)
                store(y.of, i, (values[k][i] - mean) * inverse * scale[i] + bias[i]);
            ((quad<T> *)job.y)[row * quads + at] = y;
        }
        if (lane != 0) continue;
        if (job.mean) tn_any_set_f64(job.mean, job.stash_type, row, (double)mean);
        if (job.inverse) tn_any_set_f64(job.inverse, job.stash_type, row, (double)inverse);
    }
}

bool is_at_quads(const void *data, size_t element) {
    return (uintptr_t)data % (QUAD * element) == 0;
}

/* Whether the lanes are rows of whole quads with an element of scale and bias for each of a row. */
template <typename T, typename W> bool are_rows(const tn_cuda_norm_job *job, tn_type weights) {
    return job->box.rank == 0 && job->plane == 1 && job->plane_step == 1 && job->lane_step == 0 &&
           job->count % QUAD == 0 && job->count <= MOST_QUADS * QUAD && job->y_type == job->type &&
           job->scale_type == weights && (!job->bias || job->bias_type == weights) &&
           is_at_quads(job->x, sizeof(T)) && is_at_quads(job->y, sizeof(T)) &&
           is_at_quads(job->scale, sizeof(W)) && is_at_quads(job->bias, sizeof(W));
}

template <typename T, typename W, int EACH>
cudaError_t launch_each(const tn_cuda_norm_job *job, cudaStream_t stream) {
    const int warps = job->lanes < MANY ? 1 : ROW_WARPS;
    const unsigned int blocks = tn_cuda_blocks(job->lanes, warps, 1 << 16);
#ifdef TN_CUDA_ON_HOST
    (void)stream;
    tn_host_launch(norm_rows<T, W, EACH * 32>, blocks, *job, job->lanes);
    return cudaGetLastError();
#else
    return tn_cuda_launch_early(norm_rows<T, W, EACH>, dim3(blocks),
                                dim3(warps * TN_CUDA_ANY_LANES), 0, stream, *job, job->lanes);
#endif
}

template <typename T, typename W>
cudaError_t launch_rows(const tn_cuda_norm_job *job, cudaStream_t stream) {
    const int64_t quads = job->count / QUAD;
    if (quads <= 32) return launch_each<T, W, 1>(job, stream);
    if (quads <= 64) return launch_each<T, W, 2>(job, stream);
    if (quads <= 128) return launch_each<T, W, 4>(job, stream);
    return launch_each<T, W, 8>(job, stream);
}

/* Of 16-bit elements, `own` as the job names them, weights are of their type or f32. */
template <typename T>
cudaError_t launch_halves(const tn_cuda_norm_job *job, tn_type own, cudaStream_t stream) {
    if (are_rows<T, T>(job, own)) return launch_rows<T, T>(job, stream);
    if (are_rows<T, float>(job, TN_F32)) return launch_rows<T, float>(job, stream);
    return launch<T, float>(job, stream);
}

} // namespace

extern "C" cudaError_t tn_cuda_norm_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_norm_job *job = (const tn_cuda_norm_job *)user;
    switch (job->type) {
    case TN_F64:
        return launch<double, double>(job, stream);
    case TN_F32:
        return are_rows<float, float>(job, TN_F32) ? launch_rows<float, float>(job, stream)
                                                   : launch<float, float>(job, stream);
    case TN_F16:
        return launch_halves<__half>(job, TN_F16, stream);
    default:
        return launch_halves<__nv_bfloat16>(job, TN_BF16, stream);
    }
}

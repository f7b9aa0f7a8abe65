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

/* The row of x that becomes row `row` of y; null: an index is outside. */
template <typename S, bool IS_GATHERED>
__device__ __forceinline__ const S *row_of(const tn_cuda_norm_job &job, int64_t row) {
    if (IS_GATHERED) {
        row = tn_fault_index(job.fault, tn_any_i64(job.indices, job.index_type, row), job.rows);
        if (row < 0) return NULL;
    }
    return (const S *)job.x + row * job.count;
}

/* What is added to row `row`. */
template <typename T>
__device__ __forceinline__ void load_more(const tn_cuda_norm_job &job, int64_t row, int at,
                                          float (&to)[QUAD]) {
    const int64_t first = row % job.more_rows * job.count;
    if (job.more_type == TN_F32)
        load_quad<float>((const float *)job.more + first, at, to);
    else
        load_quad<T>((const T *)job.more + first, at, to);
}

/* What a launch is of. GATHERED_FEW: scale and bias are constants, which a thread reads while it
 * waits for the kernel in front; with many rows the registers are worth more. */
enum { PLAIN, GATHERED, GATHERED_FEW };

/* S: of x; T: of y; W: of scale and bias. EACH: quads of a thread. */
template <typename S, typename T, typename W, int EACH, int FORM>
__global__ void __launch_bounds__(ROW_WARPS *TN_CUDA_ANY_LANES)
    norm_rows(const __grid_constant__ tn_cuda_norm_job job, int64_t rows) {
    const int lane = threadIdx.x % TN_CUDA_ANY_LANES, quads = (int)(job.count / QUAD);
    const int64_t step = (int64_t)gridDim.x * (blockDim.x / TN_CUDA_ANY_LANES);
    constexpr bool IS_GATHERED = FORM != PLAIN, IS_FEW = FORM == GATHERED_FEW;
    float scale[IS_FEW ? EACH : 1][QUAD], bias[IS_FEW ? EACH : 1][QUAD] = {};
    const auto load_weights = [&](int k, int at) {
        load_quad<W>(job.scale, at, scale[k]);
        if (job.bias) load_quad<W>(job.bias, at, bias[k]);
    };
    tn_cuda_start_next();
    if (IS_FEW)
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (k * TN_CUDA_ANY_LANES + lane < quads) load_weights(k, k * TN_CUDA_ANY_LANES + lane);
    tn_cuda_wait_for_last();
    for (int64_t row = (int64_t)blockIdx.x * (blockDim.x / TN_CUDA_ANY_LANES) +
                       threadIdx.x / TN_CUDA_ANY_LANES;
         row < rows; row += step) {
        const S *x = row_of<S, IS_GATHERED>(job, row);
        float values[EACH][QUAD], mean = 0, squares = 0;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int at = k * TN_CUDA_ANY_LANES + lane;
#pragma unroll
            for (int i = 0; i < QUAD; i++)
                values[k][i] = 0;
            if (at < quads && (!IS_GATHERED || x)) load_quad<S>(x, at, values[k]);
            if (IS_GATHERED && at < quads && job.more) {
                float more[QUAD];
                load_more<T>(job, row, at, more);
#pragma unroll
                for (int i = 0; i < QUAD; i++)
                    values[k][i] += more[i];
            }
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
            quad<T> y;
            if (at >= quads) break;
            const int own = IS_FEW ? k : 0;
            if (!IS_FEW) load_weights(own, at);
#pragma unroll
            for (int i = 0; i < QUAD; i++)
                store(y.of, i, (values[k][i] - mean) * inverse * scale[own][i] + bias[own][i]);
            ((quad<T> *)job.y)[row * quads + at] = y;
        }
        if (IS_GATHERED || lane != 0) continue;
        if (job.mean) tn_any_set_f64(job.mean, job.stash_type, row, (double)mean);
        if (job.inverse) tn_any_set_f64(job.inverse, job.stash_type, row, (double)inverse);
    }
}

bool is_at_quads(const void *data, size_t element) {
    return (uintptr_t)data % (QUAD * element) == 0;
}

/* Whether the lanes are rows of whole quads with an element of scale and bias for each of a row. */
template <typename S, typename T, typename W>
bool are_rows(const tn_cuda_norm_job *job, tn_type weights) {
    return job->box.rank == 0 && job->plane == 1 && job->plane_step == 1 && job->lane_step == 0 &&
           job->count % QUAD == 0 && job->count <= MOST_QUADS * QUAD &&
           job->scale_type == weights && (!job->bias || job->bias_type == weights) &&
           is_at_quads(job->x, sizeof(S)) && is_at_quads(job->y, sizeof(T)) &&
           is_at_quads(job->scale, sizeof(W)) && is_at_quads(job->bias, sizeof(W));
}

template <typename S, typename T, typename W, int EACH>
cudaError_t launch_each(const tn_cuda_norm_job *job, cudaStream_t stream) {
    const int warps = job->lanes < MANY ? 1 : ROW_WARPS;
    const unsigned int blocks = tn_cuda_blocks(job->lanes, warps, 1 << 16);
#ifdef TN_CUDA_ON_HOST
    (void)stream;
    tn_host_launch(job->indices ? norm_rows<S, T, W, EACH * 32, GATHERED>
                                : norm_rows<S, T, W, EACH * 32, PLAIN>,
                   blocks, *job, job->lanes);
    return cudaGetLastError();
#else
    return tn_cuda_launch_early(!job->indices ? norm_rows<S, T, W, EACH, PLAIN>
                                : warps == 1  ? norm_rows<S, T, W, EACH, GATHERED_FEW>
                                              : norm_rows<S, T, W, EACH, GATHERED>,
                                dim3(blocks), dim3(warps * TN_CUDA_ANY_LANES), 0, stream, *job,
                                job->lanes);
#endif
}

template <typename S, typename T, typename W>
cudaError_t launch_rows(const tn_cuda_norm_job *job, cudaStream_t stream) {
    const int64_t quads = job->count / QUAD;
    if (quads <= 32) return launch_each<S, T, W, 1>(job, stream);
    if (quads <= 64) return launch_each<S, T, W, 2>(job, stream);
    if (quads <= 128) return launch_each<S, T, W, 4>(job, stream);
    return launch_each<S, T, W, 8>(job, stream);
}

/* Calls `found` with a number of x's type, of y's and of the weights', where a warp can hold the
 * rows. */
template <typename Found> bool find_rows(const tn_cuda_norm_job *job, const Found &found) {
    const auto try_these = [&](auto of_x, auto of_y, auto weight, tn_type weights) {
        if (!are_rows<decltype(of_x), decltype(of_y), decltype(weight)>(job, weights)) return false;
        found(of_x, of_y, weight);
        return true;
    };
    const bool is_float = job->type == TN_F32;
    if (!is_float && job->type != job->y_type) return false;
    switch (job->y_type) {
    case TN_F32:
        return is_float && try_these(float(), float(), float(), TN_F32);
    case TN_F16:
        if (is_float) return try_these(float(), __half(), float(), TN_F32);
        return try_these(__half(), __half(), __half(), TN_F16) ||
               try_these(__half(), __half(), float(), TN_F32);
    case TN_BF16:
        if (is_float) return try_these(float(), __nv_bfloat16(), float(), TN_F32);
        return try_these(__nv_bfloat16(), __nv_bfloat16(), __nv_bfloat16(), TN_BF16) ||
               try_these(__nv_bfloat16(), __nv_bfloat16(), float(), TN_F32);
    default:
        return false;
    }
}

} // namespace

extern "C" bool tn_cuda_norm_is_rows(const tn_cuda_norm_job *job) {
    return find_rows(job, [](auto, auto, auto) {});
}

extern "C" cudaError_t tn_cuda_norm_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_norm_job *job = (const tn_cuda_norm_job *)user;
    cudaError_t error = cudaSuccess;
    if (find_rows(job, [&](auto of_x, auto of_y, auto weight) {
            error = launch_rows<decltype(of_x), decltype(of_y), decltype(weight)>(job, stream);
        }))
        return error;
    if (job->indices) return cudaErrorInvalidValue;
    switch (job->type) {
    case TN_F64:
        return launch<double, double>(job, stream);
    case TN_F32:
        return launch<float, float>(job, stream);
    case TN_F16:
        return launch<__half, float>(job, stream);
    default:
        return launch<__nv_bfloat16, float>(job, stream);
    }
}

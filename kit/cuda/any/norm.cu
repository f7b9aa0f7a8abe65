/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of norm_job.h: a block a lane. Mean, then variance around it, then the results; what
 * is read again comes from the caches. Of halves and 32-bit floats sums are taken in 32 bits a
 * thread, and a thread has few; f64 is taken in its own precision.
 */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/norm_job.h"

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

} // namespace

extern "C" cudaError_t tn_cuda_norm_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_norm_job *job = (const tn_cuda_norm_job *)user;
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

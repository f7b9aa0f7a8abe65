/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of window_job.h but DeformConv's: an element of the output a thread. The formulas are
 * those of the operators' references. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/window/window_job.h"

namespace {

/* The last axis fastest; false after the last one. */
__device__ __forceinline__ bool step(int rank, const int64_t *extents, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < extents[i]) return true;
        index[i] = 0;
    }
    return false;
}
__device__ __forceinline__ void find_position(int rank, const int64_t *extents, int64_t at,
                                              int64_t *position) {
    for (int i = rank - 1; i >= 0; i--) {
        position[i] = at % extents[i];
        at /= extents[i];
    }
}

/* Along each axis the inputs begin + k * dilation, k < count. False: padding alone. */
__device__ bool look(const tn_window &window, const int64_t *position, int64_t *begin,
                     int64_t *count) {
    for (int i = 0; i < (int)window.rank; i++) {
        const int64_t dilation = window.dilation[i];
        int64_t first = position[i] * window.stride[i] - window.pad_begin[i];
        const int64_t skipped = first < 0 ? (-first + dilation - 1) / dilation : 0;
        first += skipped * dilation;
        if (skipped >= window.kernel[i] || first >= window.input[i]) return false;
        const int64_t inside = (window.input[i] - first - 1) / dilation + 1;
        const int64_t left = window.kernel[i] - skipped;
        begin[i] = first;
        count[i] = inside < left ? inside : left;
    }
    return true;
}

struct pool {
    tn_cuda_window_pool_job job;

    __device__ double power_of(double x) const {
        return job.p == 1 ? fabs(x) : job.p == 2 ? x * x : pow(fabs(x), job.p);
    }
    __device__ double root_of(double sum) const {
        return job.p == 1 ? sum : job.p == 2 ? sqrt(sum) : pow(sum, 1 / job.p);
    }
    __device__ double lowest() const {
        if (job.type == TN_I8) return -128;
        return job.type == TN_U8 ? 0 : -(double)INFINITY;
    }

    __device__ int64_t index_of(int64_t offset) const {
        int64_t turned = 0;
        if (!job.is_column_major) return offset;
        for (int i = (int)job.window.rank - 1; i >= 0; i--) {
            int64_t before = 1;
            for (int k = 0; k < i; k++)
                before *= job.window.input[k];
            turned += offset % job.window.input[i] * before;
            offset /= job.window.input[i];
        }
        return turned;
    }

    /* Elements in the window, and in its pads where they count. */
    __device__ double divisor_of(const int64_t *position, const int64_t *counts) const {
        double divisor = 1;
        for (int i = 0; i < (int)job.window.rank; i++) {
            int64_t count = counts[i];
            if (job.counts_pads) {
                const int64_t begin = position[i] * job.window.stride[i] - job.window.pad_begin[i];
                const int64_t end = job.window.input[i] + job.window.pad_end[i];
                count = (end - begin - 1) / job.window.dilation[i] + 1;
                if (count > job.window.kernel[i]) count = job.window.kernel[i];
            }
            divisor *= (double)count;
        }
        return divisor;
    }

    __device__ void operator()(int64_t i) const {
        int64_t position[TN_WINDOW_MAX_RANK], begin[TN_WINDOW_MAX_RANK], count[TN_WINDOW_MAX_RANK];
        int64_t tap[TN_WINDOW_MAX_RANK] = {0}, best = -1;
        const int rank = (int)job.window.rank;
        const int64_t plane = i / job.positions * job.plane;
        double sum = 0, divisor = job.is_whole ? 0 : 1, most = lowest();
        find_position(rank, job.window.output, i % job.positions, position);
        const bool sees = look(job.window, position, begin, count);
        if (sees) {
            if (job.kind == TN_CUDA_POOL_MEAN) divisor = divisor_of(position, count);
            do {
                int64_t at = 0;
                for (int k = 0; k < rank; k++)
                    at = at * job.window.input[k] + begin[k] + tap[k] * job.window.dilation[k];
                const double value = tn_any_f64(job.x, job.type, plane + at);
                sum += job.kind == TN_CUDA_POOL_LENGTH ? power_of(value) : value;
                if (best < 0 || !(value <= most || isnan(most))) {
                    best = at;
                    most = value;
                }
            } while (step(rank, count, tap));
        }
        if (job.kind == TN_CUDA_POOL_MAX)
            tn_any_set_f64(job.y, job.type, i, most);
        else
            tn_any_set_f64(job.y, job.type, i,
                           job.kind == TN_CUDA_POOL_MEAN ? sum / divisor : root_of(sum));
        if (job.indices) job.indices[i] = best < 0 ? -1 : plane + index_of(best);
    }
};

struct find_last {
    tn_cuda_unpool_job job;
    __device__ void operator()(int64_t i) const {
        const int64_t index = job.indices[i];
        int64_t to[1];
        if (!tn_fault_within(job.fault, index, 0, (int64_t)job.pooled.count - 1)) return;
        tn_box_find(job.pooled, (uint32_t)index, to);
        atomicMax(job.last + to[0], (int)i);
    }
};
struct put_back {
    tn_cuda_unpool_job job;
    __device__ void operator()(int64_t i) const {
        if (job.last[i] >= 0)
            tn_any_copy(job.y, i, job.x, job.last[i], job.bytes);
        else
            tn_any_clear(job.y, i, job.bytes);
    }
};

struct col2im {
    tn_cuda_col2im_job job;

    /* The column whose window has this tap at this pixel; -1: there is none. */
    __device__ int64_t find_column(const int64_t *pixel, const int64_t *tap) const {
        const tn_window &window = job.window;
        int64_t column = 0;
        for (int i = 0; i < (int)window.rank; i++) {
            const int64_t at = pixel[i] + window.pad_begin[i] - tap[i] * window.dilation[i];
            if (at < 0 || at % window.stride[i] != 0 || at / window.stride[i] >= window.output[i])
                return -1;
            column = column * window.output[i] + at / window.stride[i];
        }
        return column;
    }

    __device__ void operator()(int64_t i) const {
        int64_t pixel[TN_WINDOW_MAX_RANK], tap[TN_WINDOW_MAX_RANK] = {0};
        int64_t row = i / job.pixels * job.taps;
        const int rank = (int)job.window.rank;
        double real = 0;
        uint64_t whole = 0;
        find_position(rank, job.window.input, i % job.pixels, pixel);
        do {
            const int64_t column = find_column(pixel, tap), at = row++ * job.columns;
            if (column < 0) continue;
            if (tn_any_is_real(job.type))
                real += tn_any_f64(job.x, job.type, at + column);
            else
                whole += (uint64_t)tn_any_i64(job.x, job.type, at + column);
        } while (step(rank, job.window.kernel, tap));
        if (tn_any_is_real(job.type))
            tn_any_set_f64(job.y, job.type, i, real);
        else
            tn_any_set_i64(job.y, job.type, i, (int64_t)whole);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_window_pool_launch(const void *user, cudaStream_t stream) {
    const pool function = {*(const tn_cuda_window_pool_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

extern "C" cudaError_t tn_cuda_unpool_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_unpool_job &job = *(const tn_cuda_unpool_job *)user;
    const find_last find = {job};
    const put_back put = {job};
    cudaError_t error =
        cudaMemsetAsync(job.last, 0xff, (size_t)job.y_count * sizeof(int32_t), stream);
    if (error == cudaSuccess) error = tn_each_launch(find, job.x_count, stream);
    return error == cudaSuccess ? tn_each_launch(put, job.y_count, stream) : error;
}

extern "C" cudaError_t tn_cuda_col2im_launch(const void *user, cudaStream_t stream) {
    const col2im function = {*(const tn_cuda_col2im_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

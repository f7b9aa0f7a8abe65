/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum, Det, losses and Caffe's Normalize, of sum_job.h. The formulas are those of the operators'
 * references. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/sum/sum_job.h"

namespace {

struct einsum {
    tn_cuda_einsum_job job;
    __device__ void operator()(int64_t i) const {
        int64_t at[TN_CUDA_EINSUM_INPUTS] = {0}, index[TN_CUDA_EINSUM_SUMS] = {0}, rest = i;
        const int inputs = (int)job.input_count;
        const bool is_real = tn_any_is_real(job.type);
        double real = 0;
        uint64_t whole = 0;
        for (int axis = (int)job.rank - 1; axis >= 0; axis--) {
            const int64_t k = rest % job.extents[axis];
            rest /= job.extents[axis];
            for (int input = 0; input < inputs; input++)
                at[input] += k * job.steps[input][axis];
        }
        for (bool more = !job.is_empty; more;) {
            double product = 1;
            uint64_t whole_product = 1;
            for (int input = 0; input < inputs; input++)
                if (is_real)
                    product *= tn_any_f64(job.inputs[input], job.type, at[input]);
                else
                    whole_product *= (uint64_t)tn_any_i64(job.inputs[input], job.type, at[input]);
            real += product;
            whole += whole_product;
            more = false;
            for (int axis = (int)job.sums - 1; axis >= 0 && !more; axis--) {
                more = ++index[axis] < job.sum_extents[axis];
                const int64_t step = more ? 1 : 1 - index[axis];
                for (int input = 0; input < inputs; input++)
                    at[input] += step * job.sum_steps[input][axis];
                if (!more) index[axis] = 0;
            }
        }
        if (is_real)
            tn_any_set_f64(job.y, job.type, i, real);
        else
            tn_any_set_i64(job.y, job.type, i, (int64_t)whole);
    }
};

/* Elimination with the largest element of each column as its pivot. */
struct det {
    tn_cuda_det_job job;

    /* The first row of those from `column` on with the largest element of the column, NaN above
     * all; every thread finds it. */
    __device__ int64_t find_pivot(const double *matrix, int64_t column) const {
        int64_t best = column;
        for (int64_t row = column + 1; row < job.n; row++)
            if (!(fabs(matrix[row * job.n + column]) <= fabs(matrix[best * job.n + column])))
                best = row;
        return best;
    }

    __device__ void operator()(int64_t item) const {
        const int64_t n = job.n;
        double *matrix = job.matrices + item * n * n, result = 1;
        for (int64_t i = threadIdx.x; i < n * n; i += blockDim.x)
            matrix[i] = tn_any_f64(job.x, job.type, item * n * n + i);
        for (int64_t column = 0; column < n; column++) {
            __syncthreads(); /* the step before has been written */
            const int64_t best = find_pivot(matrix, column);
            __syncthreads(); /* all have read it */
            for (int64_t k = threadIdx.x; best != column && k < n; k += blockDim.x) {
                const double other = matrix[best * n + k];
                matrix[best * n + k] = matrix[column * n + k];
                matrix[column * n + k] = other;
            }
            __syncthreads();
            const double pivot = matrix[column * n + column];
            result *= best == column ? pivot : -pivot;
            if (pivot == 0) break;
            const int64_t left = n - column - 1;
            for (int64_t i = threadIdx.x; i < left * left; i += blockDim.x) {
                const int64_t row = column + 1 + i / left, k = column + 1 + i % left;
                const double factor = matrix[row * n + column] / pivot;
                matrix[row * n + k] -= factor * matrix[column * n + k];
            }
        }
        if (threadIdx.x == 0) tn_any_set_f64(job.y, job.type, item, result);
    }
};

struct lane_loss {
    tn_cuda_loss_job job;

    /* The logarithm of the sum of exponentials; stores the logarithms of Softmax where asked. */
    __device__ double log_sum(int64_t first) const {
        const int64_t step = job.lanes.inner, end = first + job.lanes.count * step;
        double largest = -(double)INFINITY, sum = 0;
        for (int64_t i = first; i < end; i += step)
            largest = fmax(largest, tn_any_f64(job.scores, job.type, i));
        for (int64_t i = first; i < end; i += step)
            sum += exp(tn_any_f64(job.scores, job.type, i) - largest);
        const double offset = largest + log(sum);
        for (int64_t i = first; job.log_prob && i < end; i += step)
            tn_any_set_f64(job.log_prob, job.type, i, tn_any_f64(job.scores, job.type, i) - offset);
        return offset;
    }

    __device__ void operator()(int64_t lane) const {
        const int64_t inner = job.lanes.inner, count = job.lanes.count;
        const int64_t first = lane / inner * count * inner + lane % inner;
        const int64_t label = tn_any_i64(job.labels, job.label_type, lane);
        const double offset = job.has_softmax ? log_sum(first) : 0;
        double value = 0, weight = 0;
        if (!(job.has_ignored && label == job.ignored) &&
            tn_fault_within(job.fault, label, 0, count - 1)) {
            weight = job.weights ? tn_any_f64(job.weights, job.type, label) : 1;
            value = (offset - tn_any_f64(job.scores, job.type, first + label * inner)) * weight;
        }
        if (job.reduction == TN_CUDA_LOSS_NONE) {
            if (job.loss) tn_any_set_f64(job.loss, job.type, lane, value);
        } else {
            job.losses[lane] = value;
            job.losses[job.lanes.outer * inner + lane] = weight;
        }
    }
};

/* One block, in the order of its threads: the same bits each time. */
struct total_loss {
    tn_cuda_loss_job job;
    __device__ void operator()(int64_t) const {
        const int64_t count = job.lanes.outer * job.lanes.inner;
        double loss = 0, weight = 0;
        for (int64_t lane = threadIdx.x; lane < count; lane += blockDim.x) {
            loss += job.losses[lane];
            weight += job.losses[count + lane];
        }
        loss = tn_block_sum(loss);
        weight = tn_block_sum(weight);
        if (threadIdx.x == 0)
            tn_any_set_f64(job.loss, job.type, 0,
                           job.reduction == TN_CUDA_LOSS_MEAN ? loss / weight : loss);
    }
};

struct divide_by_length {
    tn_cuda_length_job job;
    __device__ void operator()(int64_t item) const {
        const tn_lanes &lanes = job.lanes;
        const int64_t first =
            job.width == 1 ? item / lanes.inner * lanes.count * lanes.inner + item % lanes.inner
                           : item * lanes.count * lanes.inner;
        const int64_t count = lanes.count * job.width;
        double sum = 0;
        for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
            const double value =
                tn_any_f64(job.x, job.type, first + i / job.width * lanes.inner + i % job.width);
            sum += value * value;
        }
        const double factor = 1 / sqrt(tn_block_sum(sum) + job.eps);
        for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
            const int64_t at = first + i / job.width * lanes.inner + i % job.width;
            const double scale = tn_any_f64(job.scale, job.type, job.is_shared ? 0 : i / job.width);
            tn_any_set_f64(job.y, job.type, at, tn_any_f64(job.x, job.type, at) * factor * scale);
        }
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_einsum_launch(const void *user, cudaStream_t stream) {
    const einsum function = {*(const tn_cuda_einsum_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

extern "C" cudaError_t tn_cuda_det_launch(const void *user, cudaStream_t stream) {
    const det function = {*(const tn_cuda_det_job *)user};
    return tn_each_block_launch(function, function.job.count, function.job.n * function.job.n,
                                stream);
}

extern "C" cudaError_t tn_cuda_loss_launch(const void *user, cudaStream_t stream) {
    const lane_loss lanes = {*(const tn_cuda_loss_job *)user};
    const total_loss total = {lanes.job};
    const int64_t count = lanes.job.lanes.outer * lanes.job.lanes.inner;
    const cudaError_t error = tn_each_launch(lanes, count, stream);
    if (error != cudaSuccess || !lanes.job.loss || lanes.job.reduction == TN_CUDA_LOSS_NONE)
        return error;
    return tn_each_block_launch(total, 1, count, stream);
}

extern "C" cudaError_t tn_cuda_length_launch(const void *user, cudaStream_t stream) {
    const divide_by_length function = {*(const tn_cuda_length_job *)user};
    const tn_cuda_length_job &job = function.job;
    const int64_t items = job.width == job.lanes.inner && job.width != 1
                              ? job.lanes.outer
                              : job.lanes.outer * job.lanes.inner;
    return tn_each_block_launch(function, items, job.lanes.count * job.width, stream);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of position_job.h: an element of the output a thread. The formulas are those of the
 * operators' references. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/position/position_job.h"

namespace {

struct affine {
    tn_cuda_affine_job job;

    /* Position `index` of an axis, in -1..1. */
    __device__ double normalized(int64_t index, int64_t extent) const {
        if (!job.align_corners) return (double)(2 * index + 1) / (double)extent - 1;
        return extent == 1 ? 0 : (double)(2 * index) / (double)(extent - 1) - 1;
    }

    __device__ void operator()(int64_t i) const {
        const int64_t axes = job.axes, row = i % axes, item = i / axes;
        const int64_t first = (item / job.positions * axes + row) * (axes + 1);
        int64_t rest = item % job.positions;
        double terms[TN_MAX_RANK], sum = 0;
        for (int64_t axis = axes - 1; axis >= 0; axis--) {
            const int64_t k = axes - 1 - axis;
            terms[k] = normalized(rest % job.extents[axis], job.extents[axis]) *
                       tn_any_f64(job.theta, job.type, first + k);
            rest /= job.extents[axis];
        }
        for (int64_t k = 0; k < axes; k++)
            sum += terms[k];
        tn_any_set_f64(job.y, job.type, i, sum + tn_any_f64(job.theta, job.type, first + axes));
    }
};

struct draw {
    tn_cuda_random_job job;

    /* Number `index` of the node, 0 <= number < 1. */
    __device__ double number_at(int64_t index) const {
        uint64_t bits = job.key + ((uint64_t)index + 1) * UINT64_C(0x9E3779B97F4A7C15);
        bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
        bits ^= bits >> 31;
        return (double)(bits >> 11) / 9007199254740992.0;
    }

    /* The first class up to which the probabilities exceed a number. */
    __device__ int64_t choose(int64_t i) const {
        const int64_t first = i / job.samples * job.classes;
        double largest = -(double)INFINITY, sum = 0, so_far = 0;
        int64_t chosen = 0;
        for (int64_t k = 0; k < job.classes; k++)
            largest = fmax(largest, tn_any_f64(job.x, job.x_type, first + k));
        for (int64_t k = 0; k < job.classes; k++)
            sum += exp(tn_any_f64(job.x, job.x_type, first + k) - largest);
        const double wanted = number_at(i) * sum;
        for (; chosen + 1 < job.classes; chosen++) {
            so_far += exp(tn_any_f64(job.x, job.x_type, first + chosen) - largest);
            if (!(so_far <= wanted)) break;
        }
        return chosen;
    }

    __device__ void operator()(int64_t i) const {
        switch (job.kind) {
        case TN_CUDA_RANDOM_UNIFORM:
            tn_any_set_f64(job.y, job.y_type, i,
                           job.first + number_at(i) * (job.second - job.first));
            return;
        case TN_CUDA_RANDOM_NORMAL: {
            const double radius = sqrt(-2 * log(1 - number_at(2 * i)));
            const double angle = 6.283185307179586 * number_at(2 * i + 1);
            tn_any_set_f64(job.y, job.y_type, i, job.first + job.second * radius * cos(angle));
            return;
        }
        case TN_CUDA_RANDOM_BERNOULLI:
            tn_any_set_f64(job.y, job.y_type, i, number_at(i) < tn_any_f64(job.x, job.x_type, i));
            return;
        default:
            tn_any_set_i64(job.y, job.y_type, i, choose(i));
        }
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_affine_launch(const void *user, cudaStream_t stream) {
    const affine function = {*(const tn_cuda_affine_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
extern "C" cudaError_t tn_cuda_random_launch(const void *user, cudaStream_t stream) {
    const draw function = {*(const tn_cuda_random_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv, of window_job.h: what each element of each window reads, a thread each; then the
 * products, an element of the output a thread. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/window/window_job.h"

namespace {

enum { MOST_AXES = 3 };

struct read_windows {
    tn_cuda_deform_job job;
    int64_t image;

    /* Along each axis i: o[i] * stride - pad + k[i] * dilation + offset. */
    __device__ void find_point(int64_t map, int64_t tap, int64_t position, double *at) const {
        const tn_window &window = job.window;
        int64_t rest = position;
        for (int i = (int)window.rank - 1; i >= 0; i--) {
            const int64_t o = rest % window.output[i], k = tap % window.kernel[i];
            const int64_t element = (map * window.rank + i) * job.positions + position;
            const int64_t begin =
                o * window.stride[i] - window.pad_begin[i] + k * window.dilation[i];
            at[i] = (double)begin + tn_any_f64(job.offset, job.type, element);
            rest /= window.output[i];
            tap /= window.kernel[i];
        }
    }

    __device__ void operator()(int64_t item) const {
        const int64_t position = item % job.positions, unit = item / job.positions;
        const int64_t tap = unit % job.taps, channel = unit / job.taps;
        const int64_t group = channel / (job.channels / job.offset_group);
        const int64_t map = (image * job.offset_group + group) * job.taps + tap;
        const int64_t plane = (image * job.channels + channel) * job.plane;
        const int rank = (int)job.window.rank;
        double at[MOST_AXES], sum = 0;
        find_point(map, tap, position, at);
        for (int corner = 0; corner < 1 << rank; corner++) {
            int64_t element = 0;
            double weight = 1;
            for (int i = 0; i < rank; i++) {
                const double index = floor(at[i]) + (corner >> i & 1);
                const bool is_inside = index >= 0 && index < (double)job.window.input[i];
                weight = is_inside ? weight * (1 - fabs(at[i] - index)) : 0;
                element = element * job.window.input[i] + (is_inside ? (int64_t)index : 0);
            }
            if (weight != 0) sum += weight * tn_any_f64(job.x, job.type, plane + element);
        }
        if (job.mask) sum *= tn_any_f64(job.mask, job.type, map * job.positions + position);
        job.values[item] = sum;
    }
};

struct multiply {
    tn_cuda_deform_job job;
    int64_t image;
    __device__ void operator()(int64_t item) const {
        const int64_t position = item % job.positions, filter = item / job.positions;
        const int64_t depth = job.channels / job.group * job.taps;
        const int64_t first = filter / (job.filters / job.group) * depth;
        double sum = job.bias ? tn_any_f64(job.bias, job.type, filter) : 0;
        for (int64_t i = 0; i < depth; i++)
            sum += tn_any_f64(job.w, job.type, filter * depth + i) *
                   job.values[(first + i) * job.positions + position];
        tn_any_set_f64(job.y, job.type, image * job.filters * job.positions + item, sum);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_deform_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_deform_job &job = *(const tn_cuda_deform_job *)user;
    cudaError_t error = cudaSuccess;
    for (int64_t image = 0; image < job.images && error == cudaSuccess; image++) {
        const read_windows read = {job, image};
        const multiply product = {job, image};
        error = tn_each_launch(read, job.channels * job.taps * job.positions, stream);
        if (error == cudaSuccess)
            error = tn_each_launch(product, job.filters * job.positions, stream);
    }
    return error;
}

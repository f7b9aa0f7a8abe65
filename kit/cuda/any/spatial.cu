/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of spatial_job.h: an element of the output a thread. The formulas are those of the
 * operators' references. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/spatial_job.h"

namespace {

struct lrn {
    tn_cuda_lrn_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t inner, c;
        (void)tn_divide_rest(tn_divide_rest((uint32_t)i, job.inner, &inner), job.channels, &c);
        const int64_t last = (int64_t)job.channels.divisor - 1 - c;
        const int64_t before = c < job.before ? c : job.before;
        const int64_t after = last < job.after ? last : job.after;
        double sum = 0;
        for (int64_t k = -before; k <= after; k++) {
            const double value = tn_any_f64(job.x, job.type, i + k * job.inner.divisor);
            sum += value * value;
        }
        const double base = job.bias + job.scale * sum;
        tn_any_set_f64(job.y, job.type, i, tn_any_f64(job.x, job.type, i) * pow(base, -job.beta));
    }
};

enum { MOST_AXES = TN_MAX_RANK - 2, MOST_TAPS = 4 };

/* The elements of one axis that a sample is made of; -1: outside. */
struct axis_taps {
    int count;
    int64_t index[MOST_TAPS];
    double weight[MOST_TAPS];
};

struct grid {
    tn_cuda_grid_job job;

    __device__ int64_t find_element(int64_t index, int64_t extent) const {
        if (index >= 0 && index < extent) return index;
        if (job.padding == TN_CUDA_GRID_BORDER) return index < 0 ? 0 : extent - 1;
        if (job.padding != TN_CUDA_GRID_REFLECTION) return -1;
        const int64_t period = job.align_corners ? 2 * (extent - 1) : 2 * extent;
        if (period == 0) return 0;
        index %= period;
        if (index < 0) index += period;
        if (index < extent) return index;
        return job.align_corners ? period - index : period - 1 - index;
    }

    __device__ void find_taps(double position, int64_t extent, axis_taps &taps) const {
        const double length = (double)extent, far = 1e15;
        double at = job.align_corners ? (position + 1) / 2 * (length - 1)
                                      : ((position + 1) * length - 1) / 2;
        at = !(at > -far) ? -far : at > far ? far : at; /* NaN: outside */
        const double below = job.mode == TN_CUDA_GRID_NEAREST ? rint(at) : floor(at);
        int64_t first = (int64_t)below;
        taps.count = 1;
        taps.weight[0] = 1;
        if (job.mode == TN_CUDA_GRID_LINEAR) {
            taps.count = 2;
            taps.weight[1] = at - below;
            taps.weight[0] = 1 - taps.weight[1];
        } else if (job.mode == TN_CUDA_GRID_CUBIC) {
            const double a = -0.75;
            taps.count = 4;
            first--;
            for (int i = 0; i < 4; i++) {
                const double d = fabs(at - below + 1 - i);
                taps.weight[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                                        : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
            }
        }
        for (int i = 0; i < taps.count; i++)
            taps.index[i] = find_element(first + i, extent);
    }

    __device__ void operator()(int64_t i) const {
        uint32_t position;
        const uint32_t plane = tn_divide_rest((uint32_t)i, job.positions, &position);
        uint32_t channel;
        const uint32_t image = tn_divide_rest(plane, job.channels, &channel);
        const int64_t item = (int64_t)image * job.positions.divisor + position;
        const int64_t first = (int64_t)plane * job.plane;
        axis_taps taps[MOST_AXES];
        int chosen[MOST_AXES] = {0}, axis;
        const int axes = (int)job.axes;
        double sum = 0;
        for (axis = 0; axis < axes; axis++)
            find_taps(tn_any_f64(job.grid, job.grid_type, (item + 1) * axes - 1 - axis),
                      job.extents[axis], taps[axis]);
        do {
            double weight = 1;
            int64_t at = job.plane > 0 ? 0 : -1;
            for (axis = 0; axis < axes && at >= 0; axis++) {
                const int64_t index = taps[axis].index[chosen[axis]];
                weight *= taps[axis].weight[chosen[axis]];
                at = index < 0 ? -1 : at * job.extents[axis] + index;
            }
            if (at >= 0 && weight != 0) sum += weight * tn_any_f64(job.x, job.type, first + at);
            for (axis = axes - 1; axis >= 0; axis--) {
                if (++chosen[axis] < taps[axis].count) break;
                chosen[axis] = 0;
            }
        } while (axis >= 0);
        tn_any_set_f64(job.y, job.type, i, sum);
    }
};

/* A region along one axis. */
struct roi_axis {
    double start, cell;
    int64_t samples, extent;
};

struct roi {
    tn_cuda_roi_job job;

    __device__ roi_axis read_axis(int64_t region, bool is_row) const {
        const int64_t at = region * 4 + (is_row ? 1 : 0);
        const double offset = job.is_half ? 0.5 : 0;
        const double start = tn_any_f64(job.rois, job.roi_type, at) * job.scale - offset;
        const double end = tn_any_f64(job.rois, job.roi_type, at + 2) * job.scale - offset;
        const double length = job.is_half ? end - start : fmax(end - start, 1.0);
        roi_axis axis = {start, length / (double)(is_row ? job.rows : job.columns).divisor,
                         job.sampling_ratio, is_row ? job.height : job.width};
        if (axis.samples > 0) return axis;
        const double samples = ceil(axis.cell);
        axis.samples = samples > 0 ? (int64_t)fmin(samples, 1e9) : 0;
        if (isnan(samples)) axis.samples = TN_CUDA_ROI_MOST_SAMPLES + 1;
        return axis;
    }

    __device__ static bool find(const roi_axis &axis, int64_t cell, int64_t sample, int64_t *low,
                                int64_t *high, double *share) {
        double at = axis.start + (double)cell * axis.cell +
                    ((double)sample + 0.5) * axis.cell / (double)axis.samples;
        if (!(at >= -1 && at <= (double)axis.extent)) return false;
        if (at < 0) at = 0;
        *low = (int64_t)at;
        if (*low >= axis.extent - 1) {
            *low = axis.extent - 1;
            at = (double)*low;
        }
        *high = *low < axis.extent - 1 ? *low + 1 : *low;
        *share = at - (double)*low;
        return true;
    }

    __device__ void operator()(int64_t i) const {
        uint32_t row, column, channel;
        uint32_t rest = tn_divide_rest((uint32_t)i, job.columns, &column);
        rest = tn_divide_rest(rest, job.rows, &row);
        const int64_t region = tn_divide_rest(rest, job.channels, &channel);
        const int64_t image = tn_any_i64(job.images, job.image_type, region);
        const roi_axis down = read_axis(region, true), across = read_axis(region, false);
        if (!tn_fault_within(job.fault, image, 0, job.image_count - 1) ||
            !tn_fault_within(job.fault, down.samples, 0, TN_CUDA_ROI_MOST_SAMPLES) ||
            !tn_fault_within(job.fault, across.samples, 0, TN_CUDA_ROI_MOST_SAMPLES)) {
            tn_any_set_f64(job.y, job.type, i, 0);
            return;
        }
        const int64_t plane = (image * job.channels.divisor + channel) * job.height * job.width;
        const int64_t count = down.samples * across.samples;
        double result = job.is_max && count > 0 ? -(double)INFINITY : 0;
        for (int64_t sample = 0; sample < count; sample++) {
            int64_t low[2], high[2];
            double share[2], parts[4] = {0, 0, 0, 0};
            if (find(down, row, sample / across.samples, &low[0], &high[0], &share[0]) &&
                find(across, column, sample % across.samples, &low[1], &high[1], &share[1]))
                for (int k = 0; k < 4; k++) {
                    const int64_t y = k < 2 ? low[0] : high[0], x = k % 2 ? high[1] : low[1];
                    parts[k] = (k < 2 ? 1 - share[0] : share[0]) *
                               (k % 2 ? share[1] : 1 - share[1]) *
                               tn_any_f64(job.x, job.type, plane + y * job.width + x);
                }
            if (job.is_max)
                result = fmax(fmax(fmax(result, parts[0]), fmax(parts[1], parts[2])), parts[3]);
            else
                result += parts[0] + parts[1] + parts[2] + parts[3];
        }
        tn_any_set_f64(job.y, job.type, i,
                       job.is_max || count == 0 ? result : result / (double)count);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_lrn_launch(const void *user, cudaStream_t stream) {
    const lrn function = {*(const tn_cuda_lrn_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
extern "C" cudaError_t tn_cuda_grid_launch(const void *user, cudaStream_t stream) {
    const grid function = {*(const tn_cuda_grid_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
extern "C" cudaError_t tn_cuda_roi_launch(const void *user, cudaStream_t stream) {
    const roi function = {*(const tn_cuda_roi_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

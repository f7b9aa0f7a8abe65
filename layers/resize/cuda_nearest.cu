/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling by the nearest element on the GPU; see cuda_job.h. A thread moves an element, or 16
 * bytes of a pixel's channels, and finds where they come from itself, before it waits for the
 * kernel in front.
 */
#define TN_RESIZE_FUNCTION static __host__ __device__ __forceinline__
#include "resize/axis_body.h"

#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "resize/cuda_job.h"

namespace {

enum { THREADS = 128, PACK = 16 };
const int64_t MOST_BLOCKS = 1 << 20;

/* Pixels and what each has of Ts. */
struct pixels {
    uint32_t count; /* Ts of the output */
    tn_divider packs, width, height;
    int64_t x_pitch, y_pitch; /* Ts from one pixel to the next */
};

__device__ __forceinline__ int32_t source_of(const tn_resize_plan &plan, const tn_resize_axis &axis,
                                             uint32_t position) {
    if (axis.is_identity) return (int32_t)position;
    const double x = tn_resize_axis_find_position(&plan, &axis, position);
    return (int32_t)tn_resize_axis_clamp(tn_resize_axis_round_position(&plan, &axis, x), 0,
                                         axis.input - 1);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    nearest(const __grid_constant__ tn_resize_plan plan, const __grid_constant__ pixels p,
            const T *x, T *y) {
    const tn_resize_axis &down = plan.axes[plan.rank - 2], &across = plan.axes[plan.rank - 1];
    const uint32_t step = gridDim.x * THREADS;
    bool is_first = true;
    tn_cuda_start_next();
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.count; i += step) {
        uint32_t pack, column, row;
        const uint32_t pixel = tn_divide_rest(i, p.packs, &pack);
        const uint32_t line = tn_divide_rest(pixel, p.width, &column);
        const uint32_t plane = tn_divide_rest(line, p.height, &row);
        const int64_t from =
            ((int64_t)plane * down.input + source_of(plan, down, row)) * across.input +
            source_of(plan, across, column);
        if (is_first) tn_cuda_wait_for_last();
        is_first = false;
        y[pixel * p.y_pitch + pack] = x[from * p.x_pitch + pack];
    }
    if (is_first) tn_cuda_wait_for_last();
}

template <typename T>
cudaError_t launch_as(const tn_resize_cuda_job *job, int64_t packs, int64_t each,
                      cudaStream_t stream) {
    const tn_resize_axis *down = &job->plan.axes[job->plan.rank - 2], *across = down + 1;
    const int64_t count = job->planes * down->output * across->output * packs;
    const pixels p = {(uint32_t)count,
                      tn_divider_make((uint32_t)packs),
                      tn_divider_make((uint32_t)across->output),
                      tn_divider_make((uint32_t)down->output),
                      job->x_pitch / each,
                      job->y_pitch / each};
    return tn_cuda_launch_early(nearest<T>, tn_cuda_blocks(count, THREADS, MOST_BLOCKS), THREADS, 0,
                                stream, job->plan, p, (const T *)job->x, (T *)job->y);
}

} // namespace

extern "C" cudaError_t tn_resize_cuda_nearest_launch(const tn_resize_cuda_job *job,
                                                     cudaStream_t stream) {
    const int64_t bytes = job->type == TN_F32 ? 4 : 2, each = PACK / bytes;
    if (job->channels % each == 0 && job->x_pitch % each == 0 && job->y_pitch % each == 0 &&
        ((uintptr_t)job->x | (uintptr_t)job->y) % PACK == 0)
        return launch_as<uint4>(job, job->channels / each, each, stream);
    return bytes == 4 ? launch_as<uint32_t>(job, job->channels, 1, stream)
                      : launch_as<uint16_t>(job, job->channels, 1, stream);
}

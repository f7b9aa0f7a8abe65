/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separable resampling on the GPU; see cuda_job.h. Where both axes have two taps or four and rows
 * are of single channels, a thread goes down a column of output: it resamples each input row across
 * once and keeps as many results as there are taps, which neighbouring output rows share. All else
 * is gathered tap by tap.
 */
#define TN_RESIZE_FUNCTION static __device__ __forceinline__
#include "resize/axis_body.h"

#include "common/cuda/launch.h"
#include "common/cuda/number.cuh"
#include "resize/cuda_job.h"

namespace {

enum { THREADS = 256, COLUMNS = 64, GROUPS = THREADS / COLUMNS, ROWS = 16 };
const int64_t MOST_BLOCKS = 1 << 20;

/* One axis: output i is the sum over t of weight[t * out + i] * input[clamp(first[i] + t)]. */
struct table {
    int32_t in, out, taps;
    int32_t *first;
    float *weight;
};

/* One output position a thread. */
__device__ void fill_position(const tn_resize_plan &plan, const tn_resize_axis &axis, table t,
                              int32_t i) {
    if (axis.is_identity) {
        t.first[i] = i;
        t.weight[i] = 1;
        return;
    }
    const double x = tn_resize_axis_find_position(&plan, &axis, i);
    const double last = (double)(axis.input - 1);
    if (plan.mode == TN_RESIZE_NEAREST) {
        t.first[i] = (int32_t)tn_resize_axis_clamp(tn_resize_axis_round_position(&plan, &axis, x),
                                                   0, axis.input - 1);
        t.weight[i] = 1;
        return;
    }
    const double left = floor(x);
    const bool is_scaled = plan.exclude_outside || plan.antialias;
    double sum = 0;
    /* So far outside that all taps are the edge's is far enough. */
    t.first[i] = (int32_t)tn_resize_axis_clamp(left + (double)axis.first_tap,
                                               -TN_RESIZE_CUDA_MOST_TAPS, axis.input);
    for (int pass = is_scaled ? 0 : 1; pass < 2; pass++) {
        for (int32_t k = 0; k < t.taps; k++) {
            const double at = left + (double)(axis.first_tap + k);
            const bool is_left_out = plan.exclude_outside && (at < 0 || at > last);
            const double weight =
                is_left_out ? 0 : tn_resize_axis_filter(&plan, axis.filter_scale * (at - x));
            if (pass == 0)
                sum += weight;
            else
                t.weight[k * t.out + i] = (float)(is_scaled && sum != 0 ? weight / sum : weight);
        }
    }
}

__global__ void fill(const __grid_constant__ tn_resize_plan plan, table vertical,
                     table horizontal) {
    const int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < vertical.out)
        fill_position(plan, plan.axes[plan.rank - 2], vertical, i);
    else if (i - vertical.out < horizontal.out)
        fill_position(plan, plan.axes[plan.rank - 1], horizontal, i - vertical.out);
}

__device__ __forceinline__ int32_t clamp(int32_t at, int32_t count) {
    return at < 0 ? 0 : at < count ? at : count - 1;
}

/* An output a thread. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    gather(table v, table h, int64_t count, uint32_t channels, const T *__restrict__ x,
           T *__restrict__ y, tn_divider by_channels, tn_divider by_width, tn_divider by_height) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
        uint32_t channel, column, row;
        uint32_t rest = tn_divide_rest((uint32_t)i, by_channels, &channel);
        rest = tn_divide_rest(rest, by_width, &column);
        const uint32_t plane = tn_divide_rest(rest, by_height, &row);
        float sum = 0;
        for (int32_t a = 0; a < v.taps; a++) {
            const int64_t line = (int64_t)plane * v.in + clamp(v.first[row] + a, v.in);
            float across = 0;
            for (int32_t b = 0; b < h.taps; b++) {
                const int64_t at =
                    (line * h.in + clamp(h.first[column] + b, h.in)) * channels + channel;
                across = fmaf(h.weight[b * h.out + column], tn_number_load(x[at], 0), across);
            }
            sum = fmaf(v.weight[a * v.out + row], across, sum);
        }
        tn_number_store(y + i, sum, 0);
    }
}

/* Down a column: ROWS outputs a thread, GROUPS times as many a block. */
template <typename T, int TAPS>
__global__ void __launch_bounds__(THREADS)
    strips(table v, table h, int64_t planes, const T *__restrict__ x, T *__restrict__ y) {
    __shared__ __align__(16) float down[GROUPS * ROWS][TAPS];
    __shared__ int32_t tops[GROUPS * ROWS];
    const int32_t column = (int32_t)(blockIdx.x * COLUMNS + threadIdx.x);
    const int32_t first = (int32_t)(blockIdx.y * GROUPS * ROWS);
    const int32_t begin = first + (int32_t)threadIdx.y * ROWS;
    const int32_t thread = (int32_t)(threadIdx.y * COLUMNS + threadIdx.x);
    for (int32_t i = thread; i < GROUPS * ROWS * TAPS; i += THREADS) {
        const int32_t row = i % (GROUPS * ROWS), k = i / (GROUPS * ROWS);
        const bool is_there = first + row < v.out;
        down[row][k] = is_there ? v.weight[k * v.out + first + row] : 0.0f;
        if (k == 0) tops[row] = is_there ? v.first[first + row] : 0;
    }
    __syncthreads();
    if (column >= h.out) return;
    int32_t places[TAPS];
    float weights[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        places[k] = clamp(h.first[column] + k, h.in);
        weights[k] = h.weight[k * h.out + column];
    }
    const int32_t count = v.out - begin < ROWS ? v.out - begin : ROWS;
    for (int64_t plane = blockIdx.z; plane < planes; plane += gridDim.z) {
        const T *from = x + plane * v.in * h.in;
        T *to = y + (plane * v.out + begin) * h.out + column;
        float kept[TAPS]; /* rows at, at + 1, ... across */
        int32_t at = tops[threadIdx.y * ROWS] - TAPS;
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            kept[k] = 0;
#pragma unroll 4
        for (int32_t r = 0; r < count; r++) {
            const int32_t wanted = tops[threadIdx.y * ROWS + r];
            if (wanted - at > TAPS) at = wanted - TAPS;
            for (; at < wanted; at++) {
                const T *row = from + (int64_t)clamp(at + TAPS, v.in) * h.in;
                float across = 0;
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    across = fmaf(weights[k], tn_number_load(row[places[k]], 0), across);
#pragma unroll
                for (int k = 0; k + 1 < TAPS; k++)
                    kept[k] = kept[k + 1];
                kept[TAPS - 1] = across;
            }
            float sum = 0;
#pragma unroll
            for (int k = 0; k < TAPS; k++)
                sum = fmaf(down[threadIdx.y * ROWS + r][k], kept[k], sum);
            tn_number_store(to + (int64_t)r * h.out, sum, 0);
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

uint64_t bytes_of(const tn_resize_axis *axis) {
    const uint64_t bytes = (uint64_t)axis->output * (sizeof(int32_t) + sizeof(float) * axis->taps);
    return (bytes + 255) / 256 * 256;
}

table make_table(const tn_resize_axis *axis, void *memory) {
    int32_t *first = (int32_t *)memory;
    return {(int32_t)axis->input, (int32_t)axis->output, (int32_t)axis->taps, first,
            (float *)(first + axis->output)};
}

/* Whether later outputs look at later inputs, as a thread that goes down needs it. */
bool goes_down(const tn_resize_plan *plan) {
    const tn_resize_axis *axis = &plan->axes[plan->rank - 2];
    return axis->scale_numerator > 0 && axis->scale_denominator > 0;
}

template <typename T>
cudaError_t launch_as(const tn_resize_cuda_job *job, const table &v, const table &h,
                      cudaStream_t stream) {
    const T *x = (const T *)job->x;
    T *y = (T *)job->y;
    const int64_t count = job->planes * job->channels * v.out * h.out;
    if (job->channels == 1 && v.taps == h.taps && (v.taps == 2 || v.taps == 4) &&
        goes_down(&job->plan) && v.out < 65535 * GROUPS * ROWS) {
        const dim3 threads(COLUMNS, GROUPS);
        const dim3 blocks((unsigned int)((h.out + COLUMNS - 1) / COLUMNS),
                          (unsigned int)((v.out + GROUPS * ROWS - 1) / (GROUPS * ROWS)),
                          tn_cuda_blocks(job->planes, 1, 65535));
        if (v.taps == 4)
            strips<T, 4><<<blocks, threads, 0, stream>>>(v, h, job->planes, x, y);
        else
            strips<T, 2><<<blocks, threads, 0, stream>>>(v, h, job->planes, x, y);
    } else {
        gather<T><<<tn_cuda_blocks(count, THREADS, MOST_BLOCKS), THREADS, 0, stream>>>(
            v, h, count, (uint32_t)job->channels, x, y, tn_divider_make((uint32_t)job->channels),
            tn_divider_make((uint32_t)h.out), tn_divider_make((uint32_t)v.out));
    }
    return cudaGetLastError();
}

} // namespace

extern "C" uint64_t tn_resize_cuda_table_bytes(const tn_resize_plan *plan) {
    return bytes_of(&plan->axes[plan->rank - 2]) + bytes_of(&plan->axes[plan->rank - 1]);
}

extern "C" cudaError_t tn_resize_cuda_launch(const tn_resize_cuda_job *job, cudaStream_t stream) {
    const tn_resize_axis *down = &job->plan.axes[job->plan.rank - 2];
    const table v = make_table(down, job->workspace);
    const table h = make_table(down + 1, (char *)job->workspace + bytes_of(down));
    fill<<<tn_cuda_blocks(v.out + h.out, 128, MOST_BLOCKS), 128, 0, stream>>>(job->plan, v, h);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    switch (job->type) {
    case TN_F32:
        return launch_as<float>(job, v, h, stream);
    case TN_F16:
        return launch_as<__half>(job, v, h, stream);
    default:
        return launch_as<__nv_bfloat16>(job, v, h, stream);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separable resampling on the GPU; see cuda_job.h. Where both axes have two taps or four, weights
 * that are not widened, and rows of single channels, a thread goes down some columns of output: it
 * resamples each input row across once and keeps as many results as there are taps, which
 * neighbouring output rows share. It finds the weights itself. All else is gathered tap by tap,
 * with tables of weights that a launch before makes.
 */
#define TN_RESIZE_FUNCTION static __host__ __device__ __forceinline__
#include "resize/axis_body.h"

#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "resize/cuda_job.h"

namespace {

enum { THREADS = 256 };
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

/* ----------------------------------------------------------------------------------------------
 * down columns */

/* Threads of a block side by side; groups of them below each other, each with up to MOST_ROWS
 * rows. */
enum { ACROSS = 64, GROUPS = THREADS / ACROSS, MOST_ROWS = 32, FEWEST_ROWS = 8 };
/* Threads that fill a large GPU: below that many a thread gets fewer rows. */
const int64_t ENOUGH_THREADS = 96 * 1024;

/* One axis: output i lies at i * step + shift among the input's elements. */
struct line {
    int32_t in, out;
    double step, shift;
};

struct filter {
    float a; /* of cubic weights */
    bool exclude_outside;
};

/* The taps of an output and their weights. The position is split in 64 bits; its fraction is exact
 * enough in 32 for the weights, whose formulas have no differences of near numbers. */
template <int TAPS>
__device__ __forceinline__ int32_t find_weights(const line &axis, const filter &f, int32_t i,
                                                float (&weight)[TAPS]) {
    const double x = fma((double)i, axis.step, axis.shift), left = floor(x);
    const float t = (float)(x - left), u = 1 - t;
    if (TAPS == 2) {
        weight[0] = u;
        weight[TAPS - 1] = t;
    } else {
        weight[0] = f.a * t * u * u;
        weight[1] = fmaf(fmaf(f.a + 2, t, -(f.a + 3)) * t, t, 1.0f);
        weight[2 % TAPS] = fmaf(fmaf(f.a + 2, u, -(f.a + 3)) * u, u, 1.0f);
        weight[3 % TAPS] = f.a * u * t * t;
    }
    const double first =
        fmin(fmax(left + (TAPS == 4 ? -1.0 : 0.0), -(double)TAPS), (double)axis.in);
    if (f.exclude_outside) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < TAPS; k++) {
            if (first + k < 0 || first + k >= axis.in) weight[k] = 0;
            sum += weight[k];
        }
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            weight[k] = sum != 0 ? weight[k] / sum : weight[k];
    }
    return (int32_t)first;
}

/* The columns of a thread, which share SPAN inputs of a row: where these are, and what each column
 * makes of them. */
template <int VECTOR, int SPAN> struct columns {
    int32_t sources[SPAN];
    float weights[VECTOR][SPAN];
};

template <int TAPS, int VECTOR, int SPAN>
__device__ __forceinline__ void find_columns(const line &h, const filter &f, int32_t first,
                                             columns<VECTOR, SPAN> &found) {
    int32_t left = 0;
#pragma unroll
    for (int c = 0; c < VECTOR; c++) {
        float weight[TAPS];
        const int32_t own = find_weights<TAPS>(h, f, first + c, weight);
        if (c == 0) left = own;
#pragma unroll
        for (int j = 0; j < SPAN; j++) {
            found.weights[c][j] = 0;
#pragma unroll
            for (int k = 0; k < TAPS; k++)
                if (j - k >= 0 && j - k <= SPAN - TAPS && own - left == j - k)
                    found.weights[c][j] = weight[k];
        }
    }
#pragma unroll
    for (int j = 0; j < SPAN; j++)
        found.sources[j] = clamp(left + j, h.in);
}

template <typename T, int VECTOR, int SPAN>
__device__ __forceinline__ void go_across(const T *row, const columns<VECTOR, SPAN> &by,
                                          float (&across)[VECTOR]) {
    float number[SPAN];
#pragma unroll
    for (int j = 0; j < SPAN; j++)
        number[j] = tn_number_load(row[by.sources[j]], 0);
#pragma unroll
    for (int c = 0; c < VECTOR; c++) {
        across[c] = 0;
#pragma unroll
        for (int j = 0; j < SPAN; j++)
            across[c] = fmaf(by.weights[c][j], number[j], across[c]);
    }
}

/* Elements of a row that are stored at once. */
template <typename T, int VECTOR> struct __align__(sizeof(T) * VECTOR) piece {
    T number[VECTOR];
};

template <typename T, int TAPS, int VECTOR, int SPAN>
__global__ void __launch_bounds__(THREADS)
    strips(line v, line h, filter f, int32_t rows, int64_t planes, const T *__restrict__ x,
           T *__restrict__ y, bool is_whole) {
    __shared__ __align__(16) float down[GROUPS * MOST_ROWS][TAPS];
    __shared__ int32_t tops[GROUPS * MOST_ROWS];
    const int32_t column = (int32_t)(blockIdx.x * ACROSS + threadIdx.x) * VECTOR;
    const int32_t first = (int32_t)blockIdx.y * GROUPS * rows;
    const int32_t begin = first + (int32_t)threadIdx.y * rows;
    const int32_t thread = (int32_t)(threadIdx.y * ACROSS + threadIdx.x);
    for (int32_t i = thread; i < GROUPS * rows && first + i < v.out; i += THREADS) {
        float weight[TAPS];
        tops[i] = find_weights<TAPS>(v, f, first + i, weight);
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            down[i][k] = weight[k];
    }
    columns<VECTOR, SPAN> by;
    find_columns<TAPS>(h, f, column, by);
    __syncthreads();
    if (column >= h.out || begin >= v.out) return;
    const int32_t *top = tops + threadIdx.y * rows;
    const int32_t count = v.out - begin < rows ? v.out - begin : rows;
    for (int64_t plane = blockIdx.z; plane < planes; plane += gridDim.z) {
        const T *from = x + plane * v.in * h.in;
        T *to = y + (plane * v.out + begin) * h.out + column;
        float kept[TAPS][VECTOR]; /* rows at, at + 1, ... across */
        int32_t at = top[0];
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            go_across(from + (int64_t)clamp(at + k, v.in) * h.in, by, kept[k]);
        for (int32_t r = 0; r < count; r++, to += h.out) {
            const int32_t wanted = top[r];
            if (wanted - at > TAPS) at = wanted - TAPS;
            for (; at < wanted; at++) {
#pragma unroll
                for (int k = 0; k + 1 < TAPS; k++)
#pragma unroll
                    for (int c = 0; c < VECTOR; c++)
                        kept[k][c] = kept[k + 1][c];
                go_across(from + (int64_t)clamp(at + TAPS, v.in) * h.in, by, kept[TAPS - 1]);
            }
            float weight[TAPS];
#pragma unroll
            for (int k = 0; k < TAPS; k++)
                weight[k] = down[threadIdx.y * rows + r][k];
            piece<T, VECTOR> sums;
#pragma unroll
            for (int c = 0; c < VECTOR; c++) {
                float sum = 0;
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    sum = fmaf(weight[k], kept[k][c], sum);
                tn_number_store(sums.number + c, sum, 0);
            }
            if (is_whole) {
                *(piece<T, VECTOR> *)to = sums;
            } else {
#pragma unroll
                for (int c = 0; c < VECTOR; c++)
                    if (column + c < h.out) to[c] = sums.number[c];
            }
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

line make_line(const tn_resize_plan *plan, const tn_resize_axis *axis) {
    const double at[2] = {tn_resize_axis_find_position(plan, axis, 0),
                          tn_resize_axis_find_position(plan, axis, axis->output - 1)};
    const double step = axis->output > 1 ? (at[1] - at[0]) / (double)(axis->output - 1) : 0;
    return {(int32_t)axis->input, (int32_t)axis->output, step, at[0]};
}

/* Whether threads can go down columns: later outputs look at later inputs, and weights are those of
 * neighbours at whole distances. */
bool goes_down(const tn_resize_cuda_job *job) {
    const tn_resize_axis *v = &job->plan.axes[job->plan.rank - 2], *h = v + 1;
    return job->channels == 1 && v->taps == h->taps && !v->is_identity && !h->is_identity &&
           ((job->plan.mode == TN_RESIZE_LINEAR && v->taps == 2) ||
            (job->plan.mode == TN_RESIZE_CUBIC && v->taps == 4)) &&
           v->filter_scale == 1 && h->filter_scale == 1 && v->scale_numerator > 0 &&
           v->scale_denominator > 0 && v->output < (int64_t)65535 * GROUPS * FEWEST_ROWS;
}

template <typename T, int TAPS, int VECTOR, int SPAN>
cudaError_t launch_spans(const tn_resize_cuda_job *job, const line &v, const line &h,
                         cudaStream_t stream) {
    const filter f = {(float)job->plan.cubic_coeff_a, job->plan.exclude_outside};
    const int64_t across = (h.out + VECTOR - 1) / VECTOR;
    int32_t rows = MOST_ROWS;
    while (rows > FEWEST_ROWS && across * job->planes * (v.out / rows) < ENOUGH_THREADS)
        rows /= 2;
    const dim3 threads(ACROSS, GROUPS);
    const dim3 blocks(tn_cuda_blocks(across, ACROSS, INT32_MAX),
                      tn_cuda_blocks(v.out, GROUPS * rows, INT32_MAX),
                      tn_cuda_blocks(job->planes, 1, 65535));
    T *y = (T *)job->y;
    const bool is_whole = h.out % VECTOR == 0 && (uintptr_t)y % sizeof(piece<T, VECTOR>) == 0;
    strips<T, TAPS, VECTOR, SPAN><<<blocks, threads, 0, stream>>>(v, h, f, rows, job->planes,
                                                                  (const T *)job->x, y, is_whole);
    return cudaGetLastError();
}

/* By how many inputs the taps of four columns lie apart at most: one, three (with room for what
 * positions are rounded by), or so many that a thread has one column. */
template <typename T, int TAPS>
cudaError_t launch_strips(const tn_resize_cuda_job *job, cudaStream_t stream) {
    const tn_resize_axis *down = &job->plan.axes[job->plan.rank - 2];
    const line v = make_line(&job->plan, down), h = make_line(&job->plan, down + 1);
    if (h.step < 0.33) return launch_spans<T, TAPS, 4, TAPS + 1>(job, v, h, stream);
    if (h.step < 0.99) return launch_spans<T, TAPS, 4, TAPS + 3>(job, v, h, stream);
    return launch_spans<T, TAPS, 1, TAPS>(job, v, h, stream);
}

template <typename T>
cudaError_t launch_gather(const tn_resize_cuda_job *job, const table &v, const table &h,
                          cudaStream_t stream) {
    const int64_t count = job->planes * job->channels * v.out * h.out;
    gather<T><<<tn_cuda_blocks(count, THREADS, MOST_BLOCKS), THREADS, 0, stream>>>(
        v, h, count, (uint32_t)job->channels, (const T *)job->x, (T *)job->y,
        tn_divider_make((uint32_t)job->channels), tn_divider_make((uint32_t)h.out),
        tn_divider_make((uint32_t)v.out));
    return cudaGetLastError();
}

template <typename T> cudaError_t launch_as(const tn_resize_cuda_job *job, cudaStream_t stream) {
    const tn_resize_axis *down = &job->plan.axes[job->plan.rank - 2];
    if (goes_down(job))
        return down->taps == 4 ? launch_strips<T, 4>(job, stream)
                               : launch_strips<T, 2>(job, stream);
    const table v = make_table(down, job->workspace);
    const table h = make_table(down + 1, (char *)job->workspace + bytes_of(down));
    fill<<<tn_cuda_blocks(v.out + h.out, 128, MOST_BLOCKS), 128, 0, stream>>>(job->plan, v, h);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? launch_gather<T>(job, v, h, stream) : error;
}

} // namespace

extern "C" uint64_t tn_resize_cuda_table_bytes(const tn_resize_plan *plan) {
    return bytes_of(&plan->axes[plan->rank - 2]) + bytes_of(&plan->axes[plan->rank - 1]);
}

extern "C" cudaError_t tn_resize_cuda_launch(const tn_resize_cuda_job *job, cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return launch_as<float>(job, stream);
    case TN_F16:
        return launch_as<__half>(job, stream);
    default:
        return launch_as<__nv_bfloat16>(job, stream);
    }
}

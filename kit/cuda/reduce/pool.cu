/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows on the GPU; see pool.h. With channels last a thread does 16 bytes of channels of one
 * output. In rows of single channels a thread does one output, or, where windows of two stand side
 * by side, all those that 16 bytes of each input row feed.
 */
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/reduce/pool_job.h"

#include <math.h>

namespace {

enum { THREADS = 256, DEPTH = 0, HEIGHT = 1, WIDTH = 2 };
const int64_t MOST_BLOCKS = 1 << 20;

struct pixels {
    uint32_t count;                               /* threads that have work */
    tn_divider groups, output[TN_CUDA_POOL_AXES]; /* [DEPTH] is not used */
};

/* The part of a window inside the input along one axis. */
struct span {
    int32_t begin, count;
};

__device__ __forceinline__ span look(const tn_cuda_pool_job &job, int axis, int32_t position) {
    const int32_t at = position * job.stride[axis] - job.pad_begin[axis];
    const int32_t dilation = job.dilation[axis];
    const int32_t skipped = at < 0 ? (-at + dilation - 1) / dilation : 0;
    const int32_t begin = at + skipped * dilation, left = job.input[axis] - begin;
    const int32_t inside = left > 0 ? (left + dilation - 1) / dilation : 0;
    const int32_t rest = job.kernel[axis] - skipped;
    return {begin, rest < inside ? rest : inside};
}

/* What a mean is divided by along one axis. */
__device__ __forceinline__ float divisor(const tn_cuda_pool_job &job, int axis, int32_t position,
                                         const span &seen) {
    if (!job.counts_pads) return (float)seen.count;
    const int32_t begin = position * job.stride[axis] - job.pad_begin[axis];
    const int32_t end = job.input[axis] + job.pad_end[axis];
    const int32_t count = (end - begin - 1) / job.dilation[axis] + 1;
    return (float)(count < job.kernel[axis] ? count : job.kernel[axis]);
}

__device__ __forceinline__ void take(bool is_mean, float value, float *result) {
    if (is_mean)
        *result += value;
    else if (value > *result || isnan(value))
        *result = value;
}

/* EACH channels of one output a thread. */
template <typename T, int EACH>
__global__ void __launch_bounds__(THREADS)
    slide(const __grid_constant__ tn_cuda_pool_job job, const __grid_constant__ pixels p) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < p.count; i += step) {
        uint32_t group, x, y, z;
        const uint32_t pixel = tn_divide_rest((uint32_t)i, p.groups, &group);
        uint32_t rest = tn_divide_rest(pixel, p.output[WIDTH], &x);
        rest = tn_divide_rest(rest, p.output[HEIGHT], &y);
        const uint32_t image = tn_divide_rest(rest, p.output[DEPTH], &z);
        const span d = look(job, DEPTH, (int32_t)z), h = look(job, HEIGHT, (int32_t)y),
                   w = look(job, WIDTH, (int32_t)x);
        const bool is_empty = d.count <= 0 || h.count <= 0 || w.count <= 0;
        float result[EACH];
        for (int k = 0; k < EACH; k++)
            result[k] = job.is_mean ? 0.0f : -INFINITY;
        const T *from = (const T *)job.x + (int64_t)group * EACH;
        for (int a = 0; a < d.count && !is_empty; a++) {
            for (int b = 0; b < h.count; b++) {
                const int64_t plane =
                    (int64_t)image * job.input[DEPTH] + d.begin + a * job.dilation[DEPTH];
                const int64_t row = plane * job.input[HEIGHT] + h.begin + b * job.dilation[HEIGHT];
                const T *at = from + (row * job.input[WIDTH] + w.begin) * job.x_pitch;
                const int64_t next = (int64_t)job.dilation[WIDTH] * job.x_pitch;
                for (int c = 0; c < w.count; c++, at += next) {
                    if (EACH == 1) {
                        take(job.is_mean, tn_number_load(*at, job.x_scale), result);
                        continue;
                    }
                    const tn_pack<T> pack = tn_pack_load(at);
#pragma unroll
                    for (int k = 0; k + 3 < EACH; k += 4) {
                        float v[4];
                        tn_pack_read(pack, k, job.x_scale, v);
                        for (int n = 0; n < 4; n++)
                            take(job.is_mean, v[n], &result[k + n]);
                    }
                }
            }
        }
        if (job.is_mean && !is_empty) {
            const float count = divisor(job, DEPTH, (int32_t)z, d) *
                                divisor(job, HEIGHT, (int32_t)y, h) *
                                divisor(job, WIDTH, (int32_t)x, w);
            for (int k = 0; k < EACH; k++)
                result[k] = __fdiv_rn(result[k], count);
        }
        T *to = (T *)job.y + pixel * job.y_pitch + (int64_t)group * EACH;
        if (EACH == 1) {
            tn_number_store(to, result[0], job.y_inverse);
            continue;
        }
        tn_pack<T> pack;
#pragma unroll
        for (int k = 0; k + 3 < EACH; k += 4)
            tn_pack_write(pack, k, result + k, job.y_inverse);
        tn_pack_store(to, pack);
    }
}

/* The largest of 8-bit numbers of one scale, as they are stored: four channels of one output a
 * thread. A window that sees padding only has the smallest. */
__global__ void __launch_bounds__(THREADS)
    slide_bytes(const __grid_constant__ tn_cuda_pool_job job, const __grid_constant__ pixels p) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < p.count; i += step) {
        uint32_t group, x, y, z, largest = 0x80808080u;
        const uint32_t pixel = tn_divide_rest((uint32_t)i, p.groups, &group);
        uint32_t rest = tn_divide_rest(pixel, p.output[WIDTH], &x);
        rest = tn_divide_rest(rest, p.output[HEIGHT], &y);
        const uint32_t image = tn_divide_rest(rest, p.output[DEPTH], &z);
        const span d = look(job, DEPTH, (int32_t)z), h = look(job, HEIGHT, (int32_t)y),
                   w = look(job, WIDTH, (int32_t)x);
        const int8_t *from = (const int8_t *)job.x + (int64_t)group * 4;
        const int64_t next = (int64_t)job.dilation[WIDTH] * job.x_pitch;
        for (int a = 0; a < d.count; a++)
            for (int b = 0; b < h.count; b++) {
                const int64_t plane =
                    (int64_t)image * job.input[DEPTH] + d.begin + a * job.dilation[DEPTH];
                const int64_t row = plane * job.input[HEIGHT] + h.begin + b * job.dilation[HEIGHT];
                const int8_t *at = from + (row * job.input[WIDTH] + w.begin) * job.x_pitch;
#pragma unroll 4
                for (int c = 0; c < w.count; c++)
                    largest = __vmaxs4(largest, *(const uint32_t *)(at + c * next));
            }
        *(uint32_t *)((int8_t *)job.y + pixel * job.y_pitch + group * 4) = largest;
    }
}

/* The larger of each of what a word has: 16-bit floats, NaN where one is; bytes. */
__device__ __forceinline__ uint32_t most(__half, uint32_t a, uint32_t b) {
    uint32_t larger;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
}
__device__ __forceinline__ uint32_t most(__nv_bfloat16, uint32_t a, uint32_t b) {
    uint32_t larger;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
}
__device__ __forceinline__ uint32_t most(int8_t, uint32_t a, uint32_t b) {
    return __vmaxs4(a, b);
}
template <typename T> __device__ __forceinline__ void take_pack(uint4 &largest, const uint4 &x) {
    largest.x = most(T(), largest.x, x.x), largest.y = most(T(), largest.y, x.y);
    largest.z = most(T(), largest.z, x.z), largest.w = most(T(), largest.w, x.w);
}

/* AT_ONCE: elements of the window that a thread asks for before it needs the first one; small
 * blocks, so that few pixels are on many multiprocessors. */
enum { AT_ONCE = 9, FEW_THREADS = 64 };

/* The largest of 16-bit floats or, of one scale, 8-bit numbers of two axes, channels last: 16 bytes
 * of the channels of one output a thread. `lowest`: a word of the lowest. */
template <typename T>
__global__ void __launch_bounds__(FEW_THREADS)
    slide_packs(const __grid_constant__ tn_cuda_pool_job job, const __grid_constant__ pixels p,
                uint32_t lowest) {
    constexpr int EACH = 16 / (int)sizeof(T);
    const int64_t step = (int64_t)gridDim.x * FEW_THREADS;
    bool is_first = true;
    for (int64_t i = (int64_t)blockIdx.x * FEW_THREADS + threadIdx.x; i < p.count; i += step) {
        uint32_t group, x, y;
        const uint32_t pixel = tn_divide_rest((uint32_t)i, p.groups, &group);
        const uint32_t line = tn_divide_rest(pixel, p.output[WIDTH], &x);
        const uint32_t image = tn_divide_rest(line, p.output[HEIGHT], &y);
        const span h = look(job, HEIGHT, (int32_t)y), w = look(job, WIDTH, (int32_t)x);
        const int64_t next = (int64_t)job.dilation[WIDTH] * job.x_pitch;
        const int64_t row = (int64_t)job.dilation[HEIGHT] * job.input[WIDTH] * job.x_pitch;
        const T *at =
            (const T *)job.x + (int64_t)group * EACH +
            (((int64_t)image * job.input[HEIGHT] + h.begin) * job.input[WIDTH] + w.begin) *
                job.x_pitch;
        const int64_t to_next_row = row - (w.count - 1) * next;
        int left = h.count > 0 && w.count > 0 ? h.count * w.count : 0, column = 0;
        uint4 largest = make_uint4(lowest, lowest, lowest, lowest);
        if (is_first) {
            tn_cuda_wait_for_last();
            tn_cuda_start_next();
        }
        is_first = false;
        for (; left > 0; left -= AT_ONCE) {
            uint4 seen[AT_ONCE];
#pragma unroll
            for (int n = 0; n < AT_ONCE; n++) {
                seen[n] = make_uint4(lowest, lowest, lowest, lowest);
                if (n < left) seen[n] = *(const uint4 *)at;
                const bool is_last = ++column == w.count;
                at += is_last ? to_next_row : next;
                if (is_last) column = 0;
            }
#pragma unroll
            for (int n = 0; n < AT_ONCE; n++)
                take_pack<T>(largest, seen[n]);
        }
        *(uint4 *)((T *)job.y + pixel * job.y_pitch + (int64_t)group * EACH) = largest;
    }
    if (is_first) tn_cuda_wait_for_last();
}

/* Rows of single channels in which windows of two stand side by side, and pads are not seen across:
 * 16 bytes of each of the window's rows make half as many outputs. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    halve(const __grid_constant__ tn_cuda_pool_job job, const __grid_constant__ pixels p) {
    constexpr int EACH = tn_pack<T>::count, OUT = EACH / 2;
    const int64_t step = (int64_t)gridDim.x * THREADS;
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < p.count; i += step) {
        uint32_t group, y, z;
        uint32_t rest = tn_divide_rest((uint32_t)i, p.groups, &group);
        rest = tn_divide_rest(rest, p.output[HEIGHT], &y);
        const uint32_t image = tn_divide_rest(rest, p.output[DEPTH], &z);
        const span d = look(job, DEPTH, (int32_t)z), h = look(job, HEIGHT, (int32_t)y);
        float result[OUT];
        for (int k = 0; k < OUT; k++)
            result[k] = job.is_mean ? 0.0f : -INFINITY;
        for (int a = 0; a < d.count; a++) {
            for (int b = 0; b < h.count; b++) {
                const int64_t plane =
                    (int64_t)image * job.input[DEPTH] + d.begin + a * job.dilation[DEPTH];
                const int64_t row = plane * job.input[HEIGHT] + h.begin + b * job.dilation[HEIGHT];
                const tn_pack<T> pack =
                    tn_pack_load((const T *)job.x + row * job.input[WIDTH] + (int64_t)group * EACH);
#pragma unroll
                for (int k = 0; k < EACH; k += 4) {
                    float v[4];
                    tn_pack_read(pack, k, job.x_scale, v);
                    for (int n = 0; n < 4; n++)
                        take(job.is_mean, v[n], &result[(k + n) / 2]);
                }
            }
        }
        const float count =
            job.is_mean && d.count > 0 && h.count > 0
                ? 2.0f * divisor(job, DEPTH, (int32_t)z, d) * divisor(job, HEIGHT, (int32_t)y, h)
                : 1.0f;
        union {
            uint2 bits;
            T items[OUT];
        } half;
        for (int k = 0; k < OUT; k++)
            tn_number_store(&half.items[k], job.is_mean ? __fdiv_rn(result[k], count) : result[k],
                            job.y_inverse);
        *(uint2 *)((T *)job.y + i * OUT) = half.bits;
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

pixels pixels_of(const tn_cuda_pool_job *job, int64_t groups, int64_t width) {
    pixels p = {};
    p.count = (uint32_t)(job->batch * groups * width * job->output[HEIGHT] * job->output[DEPTH]);
    p.groups = tn_divider_make((uint32_t)groups);
    for (int i = 0; i < TN_CUDA_POOL_AXES; i++)
        p.output[i] = tn_divider_make((uint32_t)job->output[i]);
    return p;
}

bool is_halved(const tn_cuda_pool_job *job, int each) {
    return job->channels == 1 && job->x_pitch == 1 && job->y_pitch == 1 &&
           job->kernel[WIDTH] == 2 && job->stride[WIDTH] == 2 && job->dilation[WIDTH] == 1 &&
           job->pad_begin[WIDTH] == 0 && job->input[WIDTH] % each == 0 &&
           job->output[WIDTH] * 2 == job->input[WIDTH];
}

/* One scale, as operators that select have: steps are what they were. */
bool keeps_steps(const tn_cuda_pool_job *job) {
    return job->type == TN_I8 && !job->is_mean && job->channels % 4 == 0 &&
           fabsf(job->x_scale * job->y_inverse - 1.0f) < 1e-6f;
}

/* Minus infinity of a type of 16 bits, or the smallest of bytes, as often as a word has it. */
uint32_t lowest_of(tn_type type) {
    return type == TN_F16 ? 0xFC00FC00u : type == TN_BF16 ? 0xFF80FF80u : 0x80808080u;
}

/* Whether windows are of two axes, and 16 bytes of channels lie beside each other. */
bool has_packs(const tn_cuda_pool_job *job, int each) {
    return ((uintptr_t)job->x | (uintptr_t)job->y) % 16 == 0 && job->channels % each == 0 &&
           job->x_pitch % each == 0 && job->y_pitch % each == 0 && job->input[DEPTH] == 1 &&
           job->kernel[DEPTH] == 1 && job->output[DEPTH] == 1 && job->pad_begin[DEPTH] == 0;
}

template <typename T> cudaError_t launch_as(const tn_cuda_pool_job *job, cudaStream_t stream) {
    constexpr int EACH = tn_pack<T>::count;
    if (is_halved(job, EACH)) {
        const pixels p = pixels_of(job, job->input[WIDTH] / EACH, 1);
        return tn_cuda_launch_early(halve<T>, tn_cuda_blocks(p.count, THREADS, MOST_BLOCKS),
                                    THREADS, 0, stream, *job, p);
    }
    if constexpr (sizeof(T) <= 2) {
        constexpr int PACK = 16 / (int)sizeof(T);
        if (!job->is_mean && (sizeof(T) == 2 || keeps_steps(job)) && has_packs(job, PACK)) {
            const pixels p = pixels_of(job, job->channels / PACK, job->output[WIDTH]);
            return tn_cuda_launch_early(slide_packs<T>,
                                        tn_cuda_blocks(p.count, FEW_THREADS, MOST_BLOCKS),
                                        FEW_THREADS, 0, stream, *job, p, lowest_of(job->type));
        }
    }
    if (keeps_steps(job)) {
        const pixels p = pixels_of(job, job->channels / 4, job->output[WIDTH]);
        return tn_cuda_launch_early(slide_bytes, tn_cuda_blocks(p.count, THREADS, MOST_BLOCKS),
                                    THREADS, 0, stream, *job, p);
    }
    if (job->channels % EACH == 0) {
        const pixels p = pixels_of(job, job->channels / EACH, job->output[WIDTH]);
        return tn_cuda_launch_early(slide<T, EACH>, tn_cuda_blocks(p.count, THREADS, MOST_BLOCKS),
                                    THREADS, 0, stream, *job, p);
    }
    const pixels p = pixels_of(job, job->channels, job->output[WIDTH]);
    return tn_cuda_launch_early(slide<T, 1>, tn_cuda_blocks(p.count, THREADS, MOST_BLOCKS), THREADS,
                                0, stream, *job, p);
}

} // namespace

extern "C" cudaError_t tn_cuda_pool_launch(const tn_cuda_pool_job *job, cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return launch_as<float>(job, stream);
    case TN_F16:
        return launch_as<__half>(job, stream);
    case TN_BF16:
        return launch_as<__nv_bfloat16>(job, stream);
    default:
        return launch_as<int8_t>(job, stream);
    }
}

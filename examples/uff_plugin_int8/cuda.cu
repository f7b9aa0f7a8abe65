/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UFF::MaxPool on CUDA: fp32, fp16 and INT8 tensors that lie as N, C, H, W. INT8 elements are
 * compared as they are stored; only where the scales of input and output differ is the largest one
 * rescaled. A thread does one output, or, where windows of two stand side by side, the outputs of
 * 16 bytes of each input row.
 */
#include "pool_plugin.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

enum { THREADS = 256 };

struct window {
    int64_t planes, in_height, in_width, out_height, out_width;
    int64_t height, width, down, right; /* extents and steps */
    float ratio;                        /* of the scales */
};

__device__ float larger(float a, float b) {
    return a < b ? b : a;
}
__device__ __half larger(__half a, __half b) {
    return __hlt(a, b) ? b : a;
}
__device__ int8_t larger(int8_t a, int8_t b) {
    return a < b ? b : a;
}
template <typename T> __device__ T rescale(T x, float) {
    return x;
}
__device__ int8_t rescale(int8_t x, float ratio) {
    return ratio == 1 ? x : (int8_t)fmaxf(-128, fminf(127, rintf(ratio * x)));
}

template <typename T> __global__ void pool(window w, const T *__restrict__ x, T *__restrict__ y) {
    const int64_t count = w.planes * w.out_height * w.out_width;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        const int64_t row = i / w.out_width, plane = row / w.out_height;
        const T *from = x + (plane * w.in_height + row % w.out_height * w.down) * w.in_width +
                        i % w.out_width * w.right;
        T most = *from;
        for (int64_t h = 0; h < w.height; h++)
            for (int64_t v = 0; v < w.width; v++)
                most = larger(most, from[h * w.in_width + v]);
        y[i] = rescale(most, w.ratio);
    }
}

/* Windows two wide and two apart, in rows of whole packs of 16 bytes. */
template <typename T> __global__ void halve(window w, const T *__restrict__ x, T *__restrict__ y) {
    constexpr int EACH = 16 / (int)sizeof(T), OUT = EACH / 2;
    const int64_t packs = w.in_width / EACH, count = w.planes * w.out_height * packs;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        const int64_t row = i / packs, plane = row / w.out_height;
        const T *from =
            x + (plane * w.in_height + row % w.out_height * w.down) * w.in_width + i % packs * EACH;
        union {
            uint2 bits;
            T items[OUT];
        } most;
        for (int64_t h = 0; h < w.height; h++) {
            union {
                uint4 bits;
                T items[EACH];
            } pack;
            pack.bits = *(const uint4 *)(from + h * w.in_width);
#pragma unroll
            for (int k = 0; k < OUT; k++) {
                /* One after the other, as the reference does: NaN makes a difference. */
                const T first = pack.items[2 * k];
                most.items[k] =
                    larger(h == 0 ? first : larger(most.items[k], first), pack.items[2 * k + 1]);
            }
        }
        for (int k = 0; k < OUT; k++)
            most.items[k] = rescale(most.items[k], w.ratio);
        *(uint2 *)(y + i * OUT) = most.bits;
    }
}

template <typename T> void launch(const window &w, const tn_call *call) {
    const int64_t each = 16 / (int64_t)sizeof(T), outputs = w.planes * w.out_height * w.out_width;
    const bool is_halved =
        w.width == 2 && w.right == 2 && w.in_width % each == 0 && w.out_width * 2 == w.in_width;
    const int64_t threads = is_halved ? w.planes * w.out_height * (w.in_width / each) : outputs;
    const int64_t blocks = (threads + THREADS - 1) / THREADS;
    const unsigned grid = (unsigned)(blocks < 1 << 20 ? blocks : 1 << 20);
    const T *x = (const T *)call->inputs[0]->data;
    T *y = (T *)call->outputs[0]->data;
    const cudaStream_t stream = (cudaStream_t)call->stream;
    if (is_halved)
        halve<T><<<grid, THREADS, 0, stream>>>(w, x, y);
    else
        pool<T><<<grid, THREADS, 0, stream>>>(w, x, y);
}

tn_status run(tn_call *call) noexcept {
    const params *p = (const params *)call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t at = p->data_format ? 2 : 1, *k = p->ksize.items + at, *s = p->strides.items + at;
    const window w = {x->shape[0] * x->shape[1],
                      x->shape[2],
                      x->shape[3],
                      y->shape[2],
                      y->shape[3],
                      k[0],
                      k[1],
                      s[0],
                      s[1],
                      x->quantization ? tn_layer_scale(x) / tn_layer_scale(y) : 1};
    if (y->bytes == 0) return TN_OK;
    if (x->type == TN_F32)
        launch<float>(w, call);
    else if (x->type == TN_F16)
        launch<__half>(w, call);
    else
        launch<int8_t>(w, call);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess
               ? TN_OK
               : call->host->fail(call, TN_ERROR_DEVICE, "%s", cudaGetErrorString(error));
}

const char *const f32_types[] = {"f32 -> f32"}, *const f16_types[] = {"f16 -> f16"},
                  *const i8_types[] = {"qi8 -> qi8"};

} // namespace

/* A kernel a precision, named as the processor's are. */
#define KERNEL(precision)                                                                          \
    extern "C" const tn_kernel uff_pool_cuda_##precision;                                          \
    const tn_kernel uff_pool_cuda_##precision = {                                                  \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "UFF",                                                                           \
        .op = "MaxPool",                                                                           \
        .device = "cuda",                                                                          \
        .name = #precision,                                                                        \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(precision##_types),                                                        \
        .run = run,                                                                                \
    }
KERNEL(f32);
KERNEL(f16);
KERNEL(i8);

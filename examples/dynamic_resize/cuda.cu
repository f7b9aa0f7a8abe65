/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test::DynamicTRTResize on CUDA: the kernel beside dynamic_resize.c, in the same library. A block
 * does 64 columns of 64 output rows. A thread goes down 16 rows of its column: it resamples each
 * input row across once and keeps the last four results, which neighbouring output rows share.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <tenon/plugin.h>

namespace {

/* As in dynamic_resize.c. */
struct resize_params {
    uint64_t present;
    bool align_corners;
};

enum { COLUMNS = 64, GROUPS = 4, ROWS = 16, TAPS = 4 };

struct extents {
    int planes, height, width, out_height, out_width;
    bool align_corners;
};

/* The first of the four taps of output i, and their weights. */
__device__ int cubic_taps(bool align_corners, int in, int out, int i, float *weights) {
    const double a = -0.75;
    const double x = align_corners ? (out > 1 ? (double)i * (in - 1) / (out - 1) : 0.0)
                                   : __dadd_rn(__dmul_rn(i + 0.5, in) / out, -0.5);
    const double base = floor(x), t = x - base;
    for (int k = 0; k < TAPS; k++) {
        const double d = fabs(t - (k - 1));
        weights[k] = (float)(d <= 1.0 ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
                                      : ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a);
    }
    return (int)base - 1;
}

__device__ __forceinline__ int clamp(int i, int count) {
    return i < 0 ? 0 : i < count ? i : count - 1;
}

__global__ void __launch_bounds__(COLUMNS *GROUPS)
    resize(extents e, const float *__restrict__ image, float *__restrict__ output) {
    __shared__ float down[GROUPS * ROWS][TAPS];
    __shared__ int tops[GROUPS * ROWS];
    const int x = (int)(blockIdx.x * COLUMNS + threadIdx.x);
    const int first = (int)(blockIdx.y * GROUPS * ROWS), begin = first + (int)threadIdx.y * ROWS;
    const int thread = (int)(threadIdx.y * COLUMNS + threadIdx.x);
    if (thread < GROUPS * ROWS)
        tops[thread] =
            cubic_taps(e.align_corners, e.height, e.out_height, first + thread, down[thread]);
    float across[TAPS];
    int columns[TAPS];
    const int left = cubic_taps(e.align_corners, e.width, e.out_width, x, across);
    for (int k = 0; k < TAPS; k++)
        columns[k] = clamp(left + k, e.width);
    __syncthreads();
    if (x >= e.out_width) return;
    for (int plane = (int)blockIdx.z; plane < e.planes; plane += (int)gridDim.z) {
        const float *from = image + (int64_t)plane * e.height * e.width;
        float *to = output + ((int64_t)plane * e.out_height + begin) * e.out_width + x;
        float kept[TAPS] = {0, 0, 0, 0}; /* rows at, at + 1, ... */
        int at = tops[threadIdx.y * ROWS] - TAPS;
#pragma unroll 4
        for (int r = 0; r < ROWS && begin + r < e.out_height; r++) {
            const int wanted = tops[threadIdx.y * ROWS + r];
            const float *weights = down[threadIdx.y * ROWS + r];
            if (wanted - at > TAPS) at = wanted - TAPS;
            for (; at < wanted; at++) {
                const float *row = from + (int64_t)clamp(at + TAPS, e.height) * e.width;
                kept[0] = kept[1], kept[1] = kept[2], kept[2] = kept[3], kept[3] = 0;
                for (int k = 0; k < TAPS; k++)
                    kept[3] += across[k] * __ldg(row + columns[k]);
            }
            float sum = 0;
            for (int k = 0; k < TAPS; k++)
                sum += weights[k] * kept[k];
            to[(int64_t)r * e.out_width] = sum;
        }
    }
}

tn_status resize_accepts(tn_call *call) noexcept {
    for (int i = 0; i < 4; i++) /* columns are 32-bit numbers */
        if (call->inputs[0]->shape[i] > 1 << 24 || call->outputs[0]->shape[i] > 1 << 24)
            return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status resize_run(tn_call *call) noexcept {
    const resize_params *params = (const resize_params *)call->params;
    const tn_tensor *image = call->inputs[0], *output = call->outputs[0];
    const extents e = {(int)(image->shape[0] * image->shape[1]),
                       (int)image->shape[2],
                       (int)image->shape[3],
                       (int)output->shape[2],
                       (int)output->shape[3],
                       params->align_corners};
    if (output->bytes == 0) return TN_OK;
    const dim3 blocks((unsigned)((e.out_width + COLUMNS - 1) / COLUMNS),
                      (unsigned)((e.out_height + GROUPS * ROWS - 1) / (GROUPS * ROWS)),
                      (unsigned)(e.planes < 65535 ? e.planes : 65535));
    resize<<<blocks, dim3(COLUMNS, GROUPS), 0, (cudaStream_t)call->stream>>>(
        e, (const float *)image->data, (float *)output->data);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess
               ? TN_OK
               : call->host->fail(call, TN_ERROR_DEVICE, "%s", cudaGetErrorString(error));
}

const char *const combinations[] = {"f32, * -> f32"};

} // namespace

extern "C" const tn_kernel dynamic_resize_cuda;
const tn_kernel dynamic_resize_cuda = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Test",
    .op = "DynamicTRTResize",
    .device = "cuda",
    .name = "columns",
    .doc = "Down a column, each input row resampled across once.",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    TN_COMBINATIONS(combinations),
    .accepts = resize_accepts,
    .run = resize_run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* kit::Softmax on CUDA along the last axis, a warp a lane. */
#include "kernel_kit.h"

#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/warp.cuh>

namespace {

enum { WARPS = 4, THREADS = 32 };

__global__ void softmax_lanes(int64_t lanes, int count, const float *__restrict__ x,
                              float *__restrict__ y) {
    for (int64_t lane = (int64_t)blockIdx.x * WARPS + threadIdx.y; lane < lanes;
         lane += (int64_t)gridDim.x * WARPS) {
        const float *from = x + lane * count;
        float most = -INFINITY, sum = 0;
        for (int i = (int)threadIdx.x; i < count; i += THREADS)
            most = fmaxf(most, from[i]);
        most = tn_warp_largest(most);
        for (int i = (int)threadIdx.x; i < count; i += THREADS)
            sum += expf(from[i] - most);
        const float scale = 1.0f / tn_warp_sum(sum);
        for (int i = (int)threadIdx.x; i < count; i += THREADS)
            y[lane * count + i] = expf(from[i] - most) * scale;
    }
}

tn_status accepts(tn_call *call) noexcept {
    const softmax_params *params = (const softmax_params *)call->params;
    const tn_tensor *x = call->inputs[0];
    const bool is_last = params->axis == -1 || params->axis + 1 == (int64_t)x->rank;
    return is_last && x->rank > 0 && x->shape[x->rank - 1] <= TN_CUDA_MOST_ELEMENTS
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status run(tn_call *call) noexcept {
    const tn_tensor *x = call->inputs[0];
    if (x->bytes == 0) return TN_OK;
    const int64_t lanes = tn_layer_rows(x);
    const int count = (int)x->shape[x->rank - 1], before = tn_cuda_enter(call);
    softmax_lanes<<<tn_cuda_blocks(lanes, WARPS, 65535), dim3(THREADS, WARPS), 0,
                    (cudaStream_t)call->stream>>>(lanes, count, (const float *)x->data,
                                                  (float *)call->outputs[0]->data);
    const cudaError_t error = cudaGetLastError();
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "softmax");
}

const char *const combinations[] = {"f32 -> f32"};

} // namespace

const tn_kernel softmax_cuda = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "kit",
    .op = "Softmax",
    .device = "cuda",
    .name = "warps",
    .doc = "A warp a lane.",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    TN_COMBINATIONS(combinations),
    .accepts = accepts,
    .run = run,
};

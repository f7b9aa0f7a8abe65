/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe::PReLU on CUDA: the kernel beside prelu_plugin.c, in the same library. The slopes are a
 * field, so host memory; prepare copies them to the device once for the engine.
 */
#include "prelu_plugin.h"

#include <tenon/plugin/device.h>

#include <cuda_runtime.h>

namespace {

enum { THREADS = 256 };

__global__ void prelu(const float *x, float *y, int64_t count, int64_t plane, int64_t channels,
                      const float *__restrict__ slope) {
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        const float value = x[i];
        y[i] = value > 0 ? value : slope[i / plane % channels] * value;
    }
}

tn_status prelu_prepare(tn_call *call) noexcept {
    const tn_tensor *slope = ((const prelu_params *)call->params)->slope;
    const tn_device *device = call->device;
    void *memory = nullptr;
    tn_status status = device->allocate(device, slope->bytes, call->stream, &memory);
    if (status == TN_OK)
        status = device->copy(device, memory, slope->data, slope->bytes, TN_COPY_TO_DEVICE,
                              call->stream);
    if (status == TN_OK) {
        call->state = memory;
        return TN_OK;
    }
    device->deallocate(device, memory, call->stream);
    return call->host->fail(call, status, "the slopes: %s", device->last_error(device));
}

void prelu_release(tn_call *call) noexcept {
    call->device->deallocate(call->device, call->state, call->stream);
}

tn_status prelu_run(tn_call *call) noexcept {
    const prelu_params *params = (const prelu_params *)call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= x->shape[i];
    const int64_t count = (int64_t)(x->bytes / sizeof(float));
    const int64_t channels = params->channel_shared || x->rank < 2 ? 1 : x->shape[1];
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    if (count == 0) return TN_OK;
    prelu<<<(unsigned)(blocks < 1 << 20 ? blocks : 1 << 20), THREADS, 0,
            (cudaStream_t)call->stream>>>((const float *)x->data, (float *)call->outputs[0]->data,
                                          count, plane, channels, (const float *)call->state);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess
               ? TN_OK
               : call->host->fail(call, TN_ERROR_DEVICE, "%s", cudaGetErrorString(error));
}

const char *const combinations[] = {"f32 -> f32"};

} // namespace

extern "C" const tn_kernel caffe_prelu_cuda;
const tn_kernel caffe_prelu_cuda = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Caffe",
    .op = "PReLU",
    .device = "cuda",
    .name = "elements",
    .doc = "An element a thread.",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
    .prepare = prelu_prepare,
    .release = prelu_release,
    .run = prelu_run,
};

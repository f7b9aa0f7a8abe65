/* SPDX-License-Identifier: Apache-2.0 */
/* The weights and biases of a convolution as cuDNN takes them; see cudnn_conv_plan.h. */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_conv_plan.h"
#include "kit/cuda/gemm/byte_weight.h"
#include <tenon/kit/cuda/upload.h>

extern "C" {
#include "kit/math/element.h"
}

enum { W = 1, B = 2 };

/* Filter, kernel's elements, channels, in 8 bits with a scale for each filter; `filter` has space
 * for one. */
static void pack_bytes(const tn_cudnn_problem *problem, const tn_tensor *w, int8_t *filter,
                       int8_t *packed, float *scales) {
    const int64_t filters = problem->w.shape[0], channels = problem->w.shape[1];
    const int64_t taps = tn_window_count(problem->rank - 2, problem->w.shape + 2);
    const int64_t each = channels * taps;
    for (int64_t f = 0; f < filters; f++) {
        int8_t *to = packed + f * each;
        scales[f] = tn_cuda_byte_weights(w, f * each, 1, each, taps == 1 ? to : filter);
        for (int64_t t = 0; taps > 1 && t < taps; t++)
            for (int64_t c = 0; c < channels; c++)
                to[t * channels + c] = filter[c * taps + t];
    }
}

static tn_status prepare_bytes(tn_call *call, const tn_cudnn_problem *problem, float *scales,
                               void **out_weights) {
    const uint64_t bytes = (uint64_t)tn_element_count(call->inputs[W]);
    const uint64_t filter = bytes / (uint64_t)problem->w.shape[0];
    int8_t *packed = (int8_t *)call->host->allocate(call->host, bytes + filter, 64);
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                                (unsigned long long)bytes);
    pack_bytes(problem, call->inputs[W], packed + bytes, packed, scales);
    const tn_status status = tn_cuda_upload(call, packed, bytes, out_weights);
    call->host->deallocate(call->host, packed);
    return status;
}

/* The device converts floats to the type and order that cuDNN multiplies. */
static tn_status prepare_floats(tn_call *call, const tn_cudnn_problem *problem,
                                void **out_weights) {
    const tn_device *device = call->device;
    const tn_tensor *w = call->inputs[W];
    tn_tensor from = *w, to = *w;
    void *memory = NULL;
    to.type = problem->storage;
    to.format = problem->is_last ? (tn_format)TN_NHWC : (tn_format)TN_LINEAR;
    to.bytes = (uint64_t)tn_element_count(w) * tn_element_bytes(to.type);
    from.strides = to.strides = NULL;
    tn_status status = tn_cuda_upload(call, w->data, w->bytes, &from.data);
    if (status != TN_OK) return status;
    status = device->allocate(device, to.bytes, call->stream, &memory);
    to.data = memory;
    if (status == TN_OK) status = device->convert(device, &from, &to, call->stream);
    device->deallocate(device, from.data, call->stream);
    if (status != TN_OK) {
        if (memory) device->deallocate(device, memory, call->stream);
        return call->host->fail(call, status, "converting weights: %s", device->last_error(device));
    }
    *out_weights = memory;
    return TN_OK;
}

/* Null where the node's own lie as cuDNN wants them. */
static tn_status prepare_weights(tn_call *call, const tn_cudnn_problem *problem, float *scales,
                                 void **out_weights) {
    if (problem->storage == TN_I8) return prepare_bytes(call, problem, scales, out_weights);
    if (!problem->is_last && call->inputs[W]->type == problem->storage) return TN_OK;
    return prepare_floats(call, problem, out_weights);
}

/* Biases and scales as cuDNN's operation or our launch after it take them: over the output's scale
 * where it is folded in. */
static void gather(const tn_call *call, const tn_cudnn_problem *problem, float *numbers) {
    const int64_t channels = problem->y.shape[1];
    const tn_tensor *own = call->input_count > B ? call->inputs[B] : NULL;
    for (int64_t i = 0; i < channels; i++) {
        double bias = own ? tn_element_load_f64(own->data, own->type, i) : 0;
        for (uint32_t k = 0; k < problem->epilogue.bias_count; k++) {
            const tn_tensor *more = call->operands[problem->epilogue.bias[k]];
            bias += tn_element_load_f64(more->data, more->type, i);
        }
        numbers[i] = (float)bias * problem->fold;
        numbers[channels + i] *= problem->x_scale * problem->fold;
    }
}

tn_status tn_cudnn_conv_constants(tn_call *call, const tn_cudnn_problem *problem,
                                  void **out_weights, float **out_numbers) {
    const int64_t channels = problem->y.shape[1];
    const uint64_t count = 2 * (uint64_t)channels;
    float *numbers = (float *)call->host->allocate(call->host, count * sizeof(float), 64);
    if (!numbers) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for biases");
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = 1.0f;
    tn_status status = prepare_weights(call, problem, numbers + channels, out_weights);
    if (status == TN_OK) {
        gather(call, problem, numbers);
        status = tn_cuda_upload(call, numbers, count * sizeof(float), (void **)out_numbers);
    }
    call->host->deallocate(call->host, numbers);
    return status;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization of inference on CUDA: its callbacks; the launches are cuda_channels.cu. */
#include "kit/operator/layer.h"
#include "batch_normalization/batch_normalization.h"
#include "batch_normalization/cuda_job.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/iteration.h"

static tn_status channels_accepts(tn_call *call) {
    tn_batch_normalization_sizes sizes;
    tn_cuda_chain chain;
    const tn_tensor *x = call->inputs[0];
    return !tn_batch_normalization_is_training(call) && tn_cuda_chain_read(call, &chain) &&
                   tn_cuda_iteration_knows(x) && tn_element_count(x) <= TN_CUDA_MOST_ELEMENTS &&
                   tn_batch_normalization_read(call, &sizes) == TN_OK &&
                   sizes.channels == (x->rank > 1 ? x->shape[1] : 1)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status channels_reshape(tn_call *call) {
    return channels_accepts(call) == TN_OK
               ? TN_OK
               : call->host->fail(call, TN_ERROR_UNSUPPORTED, "not with these shapes");
}

static tn_status channels_run(tn_call *call) {
    const tn_batch_normalization_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t channels = x->rank > 1 ? x->shape[1] : 1;
    const int64_t inner = x->format == TN_LINEAR ? tn_infer_product(x->shape, 2, x->rank) : 1;
    tn_batch_normalization_cuda_job job = {
        .type = x->type,
        .x = x->data,
        .y = y->data,
        .scale = call->inputs[TN_BATCH_NORMALIZATION_SCALE]->data,
        .bias = call->inputs[TN_BATCH_NORMALIZATION_B]->data,
        .mean = call->inputs[TN_BATCH_NORMALIZATION_MEAN]->data,
        .variance = call->inputs[TN_BATCH_NORMALIZATION_VARIANCE]->data,
        .epsilon = params->epsilon,
        .count = (uint32_t)tn_element_count(y),
        .channels = (uint32_t)channels,
        .inner = (uint32_t)inner};
    if (job.count == 0) return TN_OK;
    if (!tn_cuda_chain_read(call, &job.chain))
        return call->host->fail(call, TN_ERROR_INTERNAL, "an epilogue is no activation");
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_batch_normalization_cuda_launch(&job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching batch normalization");
}

static const char *const combinations[] = {
    "f32, f32, f32, f32, f32 -> f32",   "f32:nhwc, f32, f32, f32, f32 -> f32:nhwc",
    "f16, f32, f32, f32, f32 -> f16",   "f16:nhwc, f32, f32, f32, f32 -> f16:nhwc",
    "bf16, f32, f32, f32, f32 -> bf16", "bf16:nhwc, f32, f32, f32, f32 -> bf16:nhwc"};

static const tn_kernel channels = {
    TN_KERNEL_BEGIN("cuda", "", "BatchNormalization", "channels", 1,
                    "A multiplication and an addition an element, 16 bytes a thread."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE,
    .absorbs = TN_CUDA_CHAIN_ABSORBS,
    TN_COMBINATIONS(combinations),
    .accepts = channels_accepts,
    .reshape = channels_reshape,
    .run = channels_run,
};
TN_CUDA_LAYER(batch_normalization, &channels);

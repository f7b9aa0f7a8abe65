/* SPDX-License-Identifier: Apache-2.0 */
/* Cast and CastLike on CUDA: between floats the device's own conversion, else by
 * kit/cuda/any/cells.cu. */
#include "kit/cuda/any/cells_job.h"
#include "kit/operator/layer.h"
#include <tenon/plugin.h>
#include <tenon/plugin/device.h>

static tn_status cast_run(tn_call *call) {
    const tn_device *device = call->device;
    const tn_status status =
        device->convert(device, call->inputs[0], call->outputs[0], call->stream);
    return status == TN_OK ? TN_OK
                           : call->host->fail(call, status, "%s", device->last_error(device));
}

static const char *const combinations[] = {"f32 -> f16",  "f16 -> f32",  "f32 -> bf16",
                                           "bf16 -> f32", "f16 -> bf16", "bf16 -> f16"};

static const tn_kernel cast_convert = {
    TN_KERNEL_BEGIN("cuda", "", "Cast", "convert", 1,
                    "The device's conversion, 16 bytes a thread."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    TN_COMBINATIONS(combinations),
    .run = cast_run,
};

static tn_status any_accepts(tn_call *call) {
    if (call->inputs[0]->type == TN_STRING || call->outputs[0]->type == TN_STRING)
        return TN_ERROR_UNSUPPORTED;
    return tn_cuda_any_accepts(call);
}

static tn_status any_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const tn_cuda_cast_job job = {x->data, y->data, x->type, y->type, tn_element_count(y)};
    return tn_cuda_any_run(call, tn_cuda_cast_launch, &job);
}

#define ANY(symbol, name)                                                                          \
    TN_CUDA_ANY_KERNEL(symbol, "", name, "elements", "An element a thread.",                       \
                       .accepts = any_accepts, .run = any_run)
ANY(cast_elements, "Cast");
ANY(cast_like_elements, "CastLike");
TN_CUDA_LAYER(cast, &cast_convert, &cast_elements, &cast_like_elements);

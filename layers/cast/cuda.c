/* SPDX-License-Identifier: Apache-2.0 */
/* Cast between floats on CUDA: the device's own conversion. Integers are left to the processor. */
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
TN_CUDA_LAYER(cast, &cast_convert);

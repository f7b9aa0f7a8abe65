/* SPDX-License-Identifier: Apache-2.0 */
/* ConstantOfShape on CUDA, by kit/cuda/any/move.cu. */
#include "kit/cuda/any/move_job.h"
#include "constant_of_shape/fields.h"
#include "kit/operator/layer.h"

static tn_status fill_run(tn_call *call) {
    const tn_constant_of_shape_params *params = call->kernel_params;
    const tn_tensor *y = call->outputs[0];
    tn_cuda_fill_job job = {.y = y->data,
                            .bytes = (uint32_t)tn_element_bytes(y->type),
                            .count = (uint32_t)tn_element_count(y)};
    if (params->value) memcpy(job.value, params->value->data, job.bytes);
    return tn_cuda_any_run(call, tn_cuda_fill_launch, &job);
}

TN_CUDA_ANY_KERNEL(fill_elements, "", "ConstantOfShape", "elements", "An element a thread.",
                   .accepts = tn_cuda_any_accepts, .run = fill_run,
                   TN_FIELDS(tn_constant_of_shape_params, constant_of_shape_fields));
TN_CUDA_LAYER(constant_of_shape, &fill_elements);

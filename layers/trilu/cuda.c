/* SPDX-License-Identifier: Apache-2.0 */
/* Trilu on CUDA, by kit/cuda/any/move.cu. */
#include "kit/cuda/any/move_job.h"
#include "trilu/fields.h"
#include "kit/operator/layer.h"

static tn_status trilu_run(tn_call *call) {
    const tn_trilu_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0], *k = tn_infer_input(call, 1);
    if (tn_element_count(x) == 0) return TN_OK;
    const tn_cuda_trilu_job job = {.x = x->data,
                                   .k = k ? k->data : NULL,
                                   .y = call->outputs[0]->data,
                                   .bytes = (uint32_t)tn_element_bytes(x->type),
                                   .count = (uint32_t)tn_element_count(x),
                                   .is_upper = params->upper,
                                   .height = tn_divider_make((uint32_t)x->shape[x->rank - 2]),
                                   .width = tn_divider_make((uint32_t)x->shape[x->rank - 1])};
    return tn_cuda_any_run(call, tn_cuda_trilu_launch, &job);
}

TN_CUDA_ANY_KERNEL(trilu_elements, "", "Trilu", "elements", "An element a thread.",
                   .accepts = tn_cuda_any_accepts, .run = trilu_run,
                   TN_FIELDS(tn_trilu_params, trilu_fields));
TN_CUDA_LAYER(trilu, &trilu_elements);

/* SPDX-License-Identifier: Apache-2.0 */
/* BitCast on CUDA, by kit/cuda/any/move.cu. */
#include "kit/cuda/any/move_job.h"
#include "kit/operator/layer.h"

static tn_status bit_cast_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const tn_cuda_bits_job job = {.x = x->data,
                                  .y = y->data,
                                  .bytes = (uint32_t)tn_element_bytes(x->type),
                                  .count = (uint32_t)tn_element_count(x),
                                  .is_bool = y->type == TN_BOOL};
    return tn_cuda_any_run(call, tn_cuda_bits_launch, &job);
}

TN_CUDA_ANY_KERNEL(bit_cast_elements, "", "BitCast", "elements", "An element a thread.",
                   .accepts = tn_cuda_any_accepts, .run = bit_cast_run);
TN_CUDA_LAYER(bit_cast, &bit_cast_elements);

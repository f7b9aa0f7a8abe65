/* SPDX-License-Identifier: Apache-2.0 */
/* ReverseSequence on CUDA, by kit/cuda/any/move.cu. */
#include "kit/cuda/any/index_job.h"
#include "kit/cuda/any/move_job.h"
#include "reverse_sequence/fields.h"
#include "kit/operator/layer.h"

static tn_status reverse_run(tn_call *call) {
    const tn_reverse_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0];
    if (tn_element_count(x) == 0) return TN_OK;
    tn_cuda_index_job pieces = {0};
    tn_cuda_index_pieces(
        &pieces, tn_infer_product(x->shape, 2, x->rank) * (int64_t)tn_element_bytes(x->type), 1);
    const tn_cuda_reverse_job job = {
        .x = x->data,
        .lengths = call->inputs[1]->data,
        .y = call->outputs[0]->data,
        .bytes = pieces.bytes,
        .count = (uint32_t)(x->shape[0] * x->shape[1] * (int64_t)pieces.units.divisor),
        .pieces = pieces.units,
        .rows = tn_divider_make((uint32_t)x->shape[1]),
        .is_time_first = params->time_axis == 0,
        .extent = x->shape[params->time_axis],
        .fault = tn_cuda_fault_of(call)};
    return tn_cuda_any_run(call, tn_cuda_reverse_launch, &job);
}

TN_CUDA_ANY_KERNEL(reverse_pieces, "", "ReverseSequence", "pieces", "A piece of a row a thread.",
                   .accepts = tn_cuda_any_accepts, .open = tn_cuda_fault_open,
                   .close = tn_cuda_fault_close, .verify = tn_cuda_fault_verify, .run = reverse_run,
                   TN_FIELDS(tn_reverse_params, reverse_fields));
TN_CUDA_LAYER(reverse_sequence, &reverse_pieces);

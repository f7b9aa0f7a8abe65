/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding on CUDA, by kit/cuda/any/step/step.cu. */
#include "kit/cuda/any/step/step_job.h"
#include "kit/operator/layer.h"
#include "rotary_embedding/rotary_embedding.h"

static tn_status rotary_run(tn_call *call) {
    const tn_rotary_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_ROTARY_X], *cosines = call->inputs[TN_ROTARY_COSINES];
    const tn_tensor *positions = tn_infer_input(call, TN_ROTARY_POSITIONS);
    tn_rotary_sizes sizes;
    TN_TRY(tn_rotary_read(call, &sizes));
    if (tn_element_count(x) == 0) return TN_OK;
    const tn_cuda_rotary_job job = {.x = x->data,
                                    .cosines = cosines->data,
                                    .sines = call->inputs[TN_ROTARY_SINES]->data,
                                    .position_ids = tn_infer_data(positions),
                                    .y = call->outputs[0]->data,
                                    .type = x->type,
                                    .count = tn_element_count(x),
                                    .heads = sizes.heads,
                                    .positions = sizes.positions,
                                    .depth = sizes.depth,
                                    .half = sizes.half,
                                    .table_rows = positions ? cosines->shape[0]
                                                            : x->shape[0] * sizes.positions,
                                    .has_heads_first = sizes.has_heads_first,
                                    .is_interleaved = params->interleaved != 0,
                                    .fault = tn_cuda_fault_of(call)};
    return tn_cuda_any_run(call, tn_cuda_rotary_launch, &job);
}

static const char *const combinations[] = {
    "f32, f32, f32, i64? -> f32", "f16, f16, f16, i64? -> f16", "bf16, bf16, bf16, i64? -> bf16"};
TN_CUDA_ANY_KERNEL(rotary_pairs, "", "RotaryEmbedding", "pairs", "A pair a thread.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts,
                   .open = tn_cuda_fault_open, .close = tn_cuda_fault_close,
                   .verify = tn_cuda_fault_verify, .run = rotary_run);
TN_CUDA_LAYER(rotary_embedding, &rotary_pairs);

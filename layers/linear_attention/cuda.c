/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention on CUDA, by kit/cuda/any/step/step.cu. */
#include "kit/cuda/any/step/step_job.h"
#include "kit/operator/layer.h"
#include "linear_attention/linear_attention.h"

static tn_status linear_attention_reshape(tn_call *call) {
    tn_linear_attention_sizes sizes;
    int64_t count = 0;
    TN_TRY(tn_linear_attention_read(call, &sizes));
    if (!tn_infer_multiply(sizes.batch * sizes.kv_heads, sizes.k_depth, &count) ||
        !tn_infer_multiply(count, sizes.v_depth, &count) || count > INT64_MAX / 16)
        return call->host->fail(call, TN_ERROR_MEMORY, "the state has too many elements");
    call->workspace_bytes = (uint64_t)count * sizeof(double);
    return TN_OK;
}

static tn_status linear_attention_run(tn_call *call) {
    const tn_tensor *query = call->inputs[TN_LINEAR_QUERY];
    const tn_tensor *past = tn_infer_input(call, TN_LINEAR_PAST);
    const tn_tensor *y = tn_infer_output(call, TN_LINEAR_OUTPUT);
    const tn_tensor *present = tn_infer_output(call, TN_LINEAR_PRESENT);
    tn_linear_attention_sizes sizes;
    TN_TRY(tn_linear_attention_read(call, &sizes));
    const tn_cuda_linear_attention_job job = {
        .query = query->data,
        .key = call->inputs[TN_LINEAR_KEY]->data,
        .value = call->inputs[TN_LINEAR_VALUE]->data,
        .past = tn_infer_data(tn_infer_input(call, TN_LINEAR_PAST)),
        .decay = tn_infer_data(tn_infer_input(call, TN_LINEAR_DECAY)),
        .beta = tn_infer_data(tn_infer_input(call, TN_LINEAR_BETA)),
        .y = tn_infer_data(y),
        .present = tn_infer_data(present),
        .type = query->type,
        .past_type = past ? past->type : query->type,
        .present_type = present ? present->type : query->type,
        .state = call->workspace,
        .batch = sizes.batch,
        .steps = sizes.steps,
        .q_heads = sizes.q_heads,
        .kv_heads = sizes.kv_heads,
        .k_depth = sizes.k_depth,
        .v_depth = sizes.v_depth,
        .decays = sizes.decays,
        .betas = sizes.betas,
        .scale = sizes.scale};
    return tn_cuda_any_run(call, tn_cuda_linear_attention_launch, &job);
}

TN_CUDA_ANY_KERNEL(linear_attention_columns, "", "LinearAttention", "columns",
                   "A column of a head's state a thread.", .accepts = tn_cuda_any_accepts,
                   .reshape = linear_attention_reshape, .run = linear_attention_run);
TN_CUDA_LAYER(linear_attention, &linear_attention_columns);

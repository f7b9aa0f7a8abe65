/* SPDX-License-Identifier: Apache-2.0 */
/* NonZero on CUDA, by kit/cuda/any/select/. */
#include "kit/cuda/any/select/select_job.h"
#include "kit/operator/layer.h"

static tn_status non_zero_reshape(tn_call *call) {
    const int64_t count = tn_element_count(call->inputs[0]);
    call->workspace_bytes = (uint64_t)(1 + tn_cuda_select_parts(count) + count) * sizeof(int64_t);
    return TN_OK;
}

static tn_status non_zero_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t count = tn_element_count(x);
    int64_t *found = call->workspace;
    const bool is_counted = tn_cuda_count_offered(call, 0, 1);
    tn_cuda_non_zero_job job = {.select = {.flags = x->data,
                                           .type = x->type,
                                           .count = count,
                                           .firsts = found + 1,
                                           .found = found,
                                           .sources = found + 1 + tn_cuda_select_parts(count)},
                                .y = y->data,
                                .rows = {found, count, !is_counted}};
    (void)tn_cuda_box_init(&job.box, x->rank, x->shape); /* none: nothing is found */
    TN_TRY(tn_cuda_any_run(call, tn_cuda_non_zero_launch, &job));
    return tn_cuda_count_hand_out(call, found, (const int32_t[]){1});
}

static const char *const combinations[] = {"* -> i64:counted"};
TN_CUDA_ANY_KERNEL(non_zero_parts, "", "NonZero", "parts",
                   "Parts counted by blocks, then written; the count stays on the device.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts,
                   .reshape = non_zero_reshape, .run = non_zero_run);
TN_CUDA_LAYER(non_zero, &non_zero_parts);

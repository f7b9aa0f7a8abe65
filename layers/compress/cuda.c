/* SPDX-License-Identifier: Apache-2.0 */
/* Compress on CUDA, by kit/cuda/any/select/. */
#include "kit/cuda/any/select/select_job.h"
#include "kit/operator/layer.h"

enum { INPUT = 0, CONDITION = 1 };

/* The kernel's own. */
typedef struct compress_params {
    uint64_t present; /* bit 0: axis */
    int64_t axis;
} compress_params;
static const tn_field compress_fields[] = {
    TN_FIELD(compress_params, axis, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "the axis; negative: from the end; absent: all elements as one row")};

static tn_status compress_reshape(tn_call *call) {
    const int64_t given = tn_element_count(call->inputs[CONDITION]);
    call->workspace_bytes = (uint64_t)(1 + tn_cuda_select_parts(given) + given) * sizeof(int64_t);
    return TN_OK;
}

static tn_status compress_run(tn_call *call) {
    const compress_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[INPUT], *condition = call->inputs[CONDITION];
    const tn_tensor *y = call->outputs[0];
    const int64_t given = condition->shape[0];
    int64_t *found = call->workspace;
    uint32_t axis = 0;
    tn_lanes lanes = tn_lanes_along(x, 0, x->rank);
    if (params->present & 1) {
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
        lanes = tn_lanes_along(x, axis, axis + 1);
    }
    const bool is_counted = tn_cuda_count_offered(call, 0, axis);
    const tn_cuda_pick_job job = {.select = {.flags = condition->data,
                                             .type = condition->type,
                                             .count = given,
                                             .firsts = found + 1,
                                             .found = found,
                                             .sources = found + 1 + tn_cuda_select_parts(given)},
                                  .x = x->data,
                                  .y = y->data,
                                  .bytes = (uint32_t)tn_element_bytes(x->type),
                                  .lanes = lanes,
                                  .rows = {found, given, !is_counted}};
    TN_TRY(tn_cuda_any_run(call, tn_cuda_pick_launch, &job));
    return tn_cuda_count_hand_out(call, found, (const int32_t[]){(int32_t)axis});
}

static const char *const combinations[] = {"*, bool -> *:counted"};
TN_CUDA_ANY_KERNEL(compress_slices, "", "Compress", "slices",
                   "The condition counted by blocks, then an element a thread.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts,
                   .reshape = compress_reshape, .run = compress_run,
                   TN_FIELDS(compress_params, compress_fields));
TN_CUDA_LAYER(compress, &compress_slices);

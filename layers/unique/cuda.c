/* SPDX-License-Identifier: Apache-2.0 */
/* Unique on CUDA, by kit/cuda/any/select/. */
#include "kit/cuda/any/select/select_job.h"
#include "kit/operator/layer.h"
#include "unique/unique.h"

/* Items that are compared with all others are to be few. */
static tn_status unique_accepts(tn_call *call) {
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_cuda_any_accepts(call));
    TN_TRY(tn_unique_read(call, &lanes, &axis));
    return lanes.count <= TN_CUDA_DISTINCT_MOST ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* Numbers of the workspace: the count, those of parts, sources, firsts and numbers of items; then a
 * byte an item. */
static tn_status unique_reshape(tn_call *call) {
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_unique_read(call, &lanes, &axis));
    const int64_t numbers = 1 + tn_cuda_select_parts(lanes.count) + 3 * lanes.count;
    call->workspace_bytes = (uint64_t)numbers * sizeof(int64_t) + (uint64_t)lanes.count;
    return TN_OK;
}

static tn_status unique_run(tn_call *call) {
    const tn_unique_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = tn_infer_output(call, TN_UNIQUE_Y);
    int64_t *found = call->workspace;
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_unique_read(call, &lanes, &axis));
    int64_t *sources = found + 1 + tn_cuda_select_parts(lanes.count);
    int64_t *firsts = sources + lanes.count, *numbers = firsts + lanes.count;
    uint8_t *is_first = (uint8_t *)(numbers + lanes.count);
    const bool is_counted = tn_cuda_count_offered(call, TN_UNIQUE_Y, axis);
    const tn_cuda_distinct_job job = {
        .pick = {.select = {.flags = is_first,
                            .type = TN_U8,
                            .count = lanes.count,
                            .firsts = found + 1,
                            .found = found,
                            .sources = sources,
                            .numbers = numbers},
                 .x = x->data,
                 .y = tn_infer_data(y),
                 .bytes = (uint32_t)tn_element_bytes(x->type),
                 .lanes = lanes,
                 .rows = {found, lanes.count, !is_counted}},
        .type = x->type,
        .is_sorted = params->sorted,
        .is_first = is_first,
        .firsts = firsts,
        .numbers = numbers,
        .indices = tn_infer_data(tn_infer_output(call, TN_UNIQUE_INDICES)),
        .inverse = tn_infer_data(tn_infer_output(call, TN_UNIQUE_INVERSE)),
        .counts = tn_infer_data(tn_infer_output(call, TN_UNIQUE_COUNTS))};
    const int32_t axes[] = {(int32_t)axis, 0, -1, 0};
    (void)tn_cuda_count_offered(call, TN_UNIQUE_INDICES, 0);
    (void)tn_cuda_count_offered(call, TN_UNIQUE_COUNTS, 0);
    TN_TRY(tn_cuda_any_run(call, tn_cuda_distinct_launch, &job));
    return tn_cuda_count_hand_out(call, found, axes);
}

static const char *const combinations[] = {"* -> *:counted?, i64:counted?, i64?, i64:counted?"};
TN_CUDA_ANY_KERNEL(unique_pairs, "", "Unique", "pairs",
                   "An item a thread, which is compared with all others.",
                   TN_COMBINATIONS(combinations), .accepts = unique_accepts,
                   .reshape = unique_reshape, .run = unique_run);
TN_CUDA_LAYER(unique, &unique_pairs);

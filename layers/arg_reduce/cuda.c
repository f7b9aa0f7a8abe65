/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin on CUDA, by kit/cuda/any/lane.cu. */
#include "arg_reduce/arg_reduce.h"
#include "kit/cuda/any/lane_job.h"
#include "kit/operator/layer.h"

static tn_status run(tn_call *call, tn_cuda_lane_kind kind) {
    tn_cuda_lane_job job = {.kind = kind, .is_last = tn_arg_reduce_is_last(call)};
    tn_lanes lanes;
    TN_TRY(tn_arg_reduce_read(call, &lanes));
    return tn_cuda_lane_run_along(call, &lanes, &job);
}
static tn_status arg_max_run(tn_call *call) {
    return run(call, TN_CUDA_LANE_ARG_MAX);
}
static tn_status arg_min_run(tn_call *call) {
    return run(call, TN_CUDA_LANE_ARG_MIN);
}

static const char *const combinations[] = {"* -> i64", "f16 -> i64", "bf16 -> i64"};
#define BLOCKS(prefix, name)                                                                       \
    TN_CUDA_ANY_KERNEL(prefix##_blocks, "", name, "blocks", "A lane a block.",                     \
                       TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts,              \
                       .run = prefix##_run)
BLOCKS(arg_max, "ArgMax");
BLOCKS(arg_min, "ArgMin");
TN_CUDA_LAYER(arg_reduce, &arg_max_blocks, &arg_min_blocks);

/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum and CumProd on CUDA, by kit/cuda/any/lane.cu. */
#include "kit/cuda/any/lane_job.h"
#include "cumulative/fields.h"
#include "kit/operator/layer.h"

static tn_status run(tn_call *call, tn_cuda_lane_kind kind) {
    const tn_cumulative_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0];
    tn_cuda_lane_job job = {
        .kind = kind, .exclusive = params->exclusive, .is_reverse = params->reverse};
    int64_t values[1] = {0};
    uint32_t count = 0, axis = 0;
    TN_TRY(tn_infer_integers(call, 1, 1, values, &count));
    TN_TRY(tn_infer_axis(call, "input 'axis'", values[0], x->rank, &axis));
    const tn_lanes lanes = tn_lanes_along(x, axis, axis + 1);
    return tn_cuda_lane_run_along(call, &lanes, &job);
}
static tn_status cum_sum_run(tn_call *call) {
    return run(call, TN_CUDA_LANE_CUM_SUM);
}
static tn_status cum_prod_run(tn_call *call) {
    return run(call, TN_CUDA_LANE_CUM_PROD);
}

#define BLOCKS(prefix, name)                                                                       \
    TN_CUDA_ANY_KERNEL(prefix##_blocks, "", name, "blocks", "A lane a warp.",                      \
                       .accepts = tn_cuda_any_accepts, .run = prefix##_run,                        \
                       TN_FIELDS(tn_cumulative_params, cumulative_fields))
BLOCKS(cum_sum, "CumSum");
BLOCKS(cum_prod, "CumProd");
TN_CUDA_LAYER(cumulative, &cum_sum_blocks, &cum_prod_blocks);

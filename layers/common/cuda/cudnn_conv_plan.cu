/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of convolutions; see cudnn_conv_plan.h. Tactics are the engine configurations for the
 * convolution with its epilogue in one operation, then those for the convolution alone.
 */
#if __has_include(<cudnn.h>)
#include "common/cuda/cudnn_conv_plan.h"

#include <string.h>

uint32_t tn_cudnn_conv_plan_count(tn_call *call, const tn_cudnn_problem *problem,
                                  cudnnHandle_t handle) {
    tn_cudnn_proposals *proposals;
    if (tn_cudnn_proposals_retain(call, problem, handle, &proposals) != TN_OK) return 1;
    const uint32_t count = tn_cudnn_proposals_get(proposals, true)->count +
                           tn_cudnn_proposals_get(proposals, false)->count;
    tn_cudnn_proposals_release(proposals);
    return count ? count : 1;
}

/* Tries the configurations of one graph from `index` on. */
static cudnnStatus_t try_configs(const tn_cudnn_proposal *proposal, cudnnHandle_t handle,
                                 bool is_exact, uint32_t index, tn_cudnn_conv_plan *plan) {
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    for (uint32_t i = index; i < proposal->count; i++) {
        status = tn_cudnn_plan_create(proposal->graph.cudnn, handle, proposal->configs[i],
                                      &plan->plan, &plan->workspace_bytes);
        if (status == CUDNN_STATUS_SUCCESS || is_exact) break;
    }
    if (status != CUDNN_STATUS_SUCCESS) return status;
    plan->is_fused = proposal->is_fused;
    plan->argument_count = proposal->argument_count;
    memcpy(plan->arguments, proposal->arguments, sizeof(plan->arguments));
    return status;
}

static tn_status choose(tn_call *call, cudnnHandle_t handle, bool is_exact,
                        tn_cudnn_conv_plan *plan) {
    const tn_cudnn_proposal *fused = tn_cudnn_proposals_get(plan->proposals, true);
    const tn_cudnn_proposal *plain = tn_cudnn_proposals_get(plan->proposals, false);
    uint32_t index = call->tactic;
    if (index < fused->count) {
        const cudnnStatus_t status = try_configs(fused, handle, is_exact, index, plan);
        if (status == CUDNN_STATUS_SUCCESS || is_exact)
            return tn_cudnn_check(call, status, "planning a convolution");
        index = 0;
    } else {
        index -= fused->count;
    }
    if (plain->graph.status != CUDNN_STATUS_SUCCESS)
        return tn_cudnn_check(call, plain->graph.status, plain->graph.failed);
    if (is_exact && index >= plain->count)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "cuDNN has %u ways of doing this convolution, number %u is asked",
                                fused->count + plain->count, call->tactic);
    return tn_cudnn_check(
        call, try_configs(plain, handle, is_exact, index < plain->count ? index : 0, plan),
        "planning a convolution");
}

tn_status tn_cudnn_conv_plan_make(tn_call *call, const tn_cudnn_problem *problem,
                                  cudnnHandle_t handle, bool is_exact, tn_cudnn_conv_plan *plan) {
    tn_status status = tn_cudnn_proposals_retain(call, problem, handle, &plan->proposals);
    if (status == TN_OK) status = choose(call, handle, is_exact, plan);
    if (status != TN_OK) tn_cudnn_conv_plan_clear(tn_cudnn_open(call->host), plan);
    return status;
}

void tn_cudnn_conv_plan_clear(const tn_cudnn *cudnn, tn_cudnn_conv_plan *plan) {
    if (plan->plan) tn_cudnn_destroy(cudnn, plan->plan);
    tn_cudnn_proposals_release(plan->proposals);
    *plan = {};
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss on CUDA, by kit/cuda/any/sum/sum.cu. */
#include "kit/cuda/any/sum/sum_job.h"
#include "loss/fields.h"
#include "kit/operator/layer.h"

enum { SCORES = 0, LABELS = 1, WEIGHTS = 2, LOSS = 0, LOG_PROB = 1 };

static tn_status loss_reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)tn_element_count(call->inputs[LABELS]) * 2 * sizeof(double);
    return TN_OK;
}

static tn_status run(tn_call *call, bool has_softmax) {
    const tn_loss_params *params = call->kernel_params;
    const tn_tensor *scores = call->inputs[SCORES], *labels = call->inputs[LABELS];
    const tn_tensor *weights = tn_infer_input(call, WEIGHTS), *loss = tn_infer_output(call, LOSS);
    const tn_tensor *log_prob = tn_infer_output(call, LOG_PROB);
    const tn_cuda_loss_job job = {.scores = scores->data,
                                  .labels = labels->data,
                                  .weights = tn_infer_data(weights),
                                  .loss = tn_infer_data(loss),
                                  .log_prob = tn_infer_data(log_prob),
                                  .type = scores->type,
                                  .label_type = labels->type,
                                  .lanes = tn_lanes_along(scores, 1, 2),
                                  .reduction = params->reduction,
                                  .has_softmax = has_softmax,
                                  .has_ignored = params->present & 1,
                                  .ignored = params->ignore_index,
                                  .losses = call->workspace,
                                  .fault = tn_cuda_fault_of(call)};
    return tn_cuda_any_run(call, tn_cuda_loss_launch, &job);
}
static tn_status likelihood_run(tn_call *call) {
    return run(call, false);
}
static tn_status cross_entropy_run(tn_call *call) {
    return run(call, true);
}

#define LANES(prefix, name)                                                                        \
    TN_CUDA_ANY_KERNEL(prefix##_lanes, "", name, "threads",                                        \
                       "A lane a thread in double precision, then one block adds them up.",        \
                       .accepts = tn_cuda_any_accepts, .open = tn_cuda_fault_open,                 \
                       .close = tn_cuda_fault_close, .verify = tn_cuda_fault_verify,               \
                       .reshape = loss_reshape, .run = prefix##_run,                               \
                       TN_FIELDS(tn_loss_params, loss_fields))
LANES(likelihood, "NegativeLogLikelihoodLoss");
LANES(cross_entropy, "SoftmaxCrossEntropyLoss");
TN_CUDA_LAYER(loss, &likelihood_lanes, &cross_entropy_lanes);

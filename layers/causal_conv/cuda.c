/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState on CUDA, by kit/cuda/any/step/step.cu. */
#include "kit/cuda/any/step/step_job.h"
#include "causal_conv/fields.h"
#include "kit/operator/layer.h"

enum { X = 0, WEIGHT = 1, BIAS = 2, PAST = 3, Y = 0, PRESENT = 1 };

static tn_status causal_run(tn_call *call) {
    const tn_causal_conv_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[X], *bias = tn_infer_input(call, BIAS);
    const tn_tensor *past = tn_infer_input(call, PAST), *y = tn_infer_output(call, Y);
    const tn_tensor *present = tn_infer_output(call, PRESENT);
    const tn_cuda_causal_job job = {.x = x->data,
                                    .weight = call->inputs[WEIGHT]->data,
                                    .bias = tn_infer_data(bias),
                                    .past = tn_infer_data(past),
                                    .y = tn_infer_data(y),
                                    .present = tn_infer_data(present),
                                    .type = x->type,
                                    .rows = x->shape[0] * x->shape[1],
                                    .channels = x->shape[1],
                                    .length = x->shape[2],
                                    .taps = call->inputs[WEIGHT]->shape[2],
                                    .has_sigmoid = params->activation != 0};
    return tn_cuda_any_run(call, tn_cuda_causal_launch, &job);
}

TN_CUDA_ANY_KERNEL(causal_elements, "", "CausalConvWithState", "elements",
                   "An element of the output or the state a thread.",
                   .accepts = tn_cuda_any_accepts, .run = causal_run,
                   TN_FIELDS(tn_causal_conv_params, causal_conv_fields));
TN_CUDA_LAYER(causal_conv, &causal_elements);

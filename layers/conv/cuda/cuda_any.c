/* SPDX-License-Identifier: Apache-2.0 */
/* Conv of any type, ConvInteger and QLinearConv on CUDA, by kit/cuda/any/byte.cu. */
#include "conv/cuda/cuda_kernels.h"
#include "conv/integer/integer.h"
#include "kit/cuda/any/byte_job.h"
#include "kit/operator/layer.h"

static tn_cuda_parameter parameter(const tn_call *call, uint32_t input) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    if (!tensor) return (tn_cuda_parameter){.type = TN_U8};
    return (tn_cuda_parameter){
        .data = tensor->data, .type = tensor->type, .step = tn_element_count(tensor) == 1 ? 0 : 1};
}

static tn_status run(tn_call *call, const tn_tensor *w, const tn_tensor *bias,
                     tn_cuda_byte_conv_job *job) {
    const tn_conv_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_CONV_X], *y = call->outputs[0];
    if (!tn_cuda_box_init(&job->box, y->rank, y->shape)) return TN_OK;
    job->x = x->data;
    job->w = w->data;
    job->bias = bias ? bias->data : NULL;
    job->y = y->data;
    job->x_type = x->type;
    job->w_type = w->type;
    job->bias_type = bias ? bias->type : TN_I32;
    job->y_type = y->type;
    job->channels = x->shape[1];
    job->filters = w->shape[0];
    job->group_channels = w->shape[1];
    job->group_filters = w->shape[0] / params->group;
    return tn_cuda_any_run(call, tn_cuda_byte_conv_launch, job);
}

static tn_status conv_run(tn_call *call) {
    tn_cuda_byte_conv_job job = {.channels = 0};
    TN_TRY(tn_conv_window(call, &job.window));
    return run(call, call->inputs[1], tn_infer_input(call, 2), &job);
}

static tn_status integer_run(tn_call *call) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    tn_cuda_byte_conv_job job = {.x_zero = parameter(call, inputs->x_zero),
                                 .w_zero = parameter(call, inputs->w_zero)};
    TN_TRY(tn_conv_integer_read(call, &job.window));
    if (inputs->y_scale != TN_CONV_NO_INPUT) {
        job.x_scale = parameter(call, inputs->x_scale);
        job.w_scale = parameter(call, inputs->w_scale);
        job.y_scale = parameter(call, inputs->y_scale);
        job.y_zero = parameter(call, inputs->y_zero);
    }
    return run(call, call->inputs[inputs->w], tn_infer_input(call, inputs->bias), &job);
}

TN_CUDA_ANY_FALLBACK(tn_conv_cuda_any, "Conv", conv_run);
TN_CUDA_ANY_FALLBACK(tn_conv_integer_cuda_any, "ConvInteger", integer_run);
TN_CUDA_ANY_FALLBACK(tn_q_linear_conv_cuda_any, "QLinearConv", integer_run);

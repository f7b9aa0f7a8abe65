/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe::PReLU: y = x > 0 ? x : slope * x with learned slopes, as a plugin library. It is not
 * ONNX's PRelu: the slopes are not an input but a field of the node, a tensor, as the blob of
 * Caffe's layer has it; the plan keeps it with its weights. The program that uses it is main.c.
 *
 * Source: K. He et al., "Delving Deep into Rectifiers", 2015; one slope a channel (axis 1), or one
 * for all where channel_shared is set.
 */
#include "prelu_plugin.h"

#include <string.h>

static const tn_field prelu_fields[] = {
    TN_FIELD(prelu_params, channel_shared, TN_FIELD_BOOL, TN_OPTIONAL, "false",
             "true: one slope for all channels"),
    TN_FIELD(prelu_params, slope, TN_FIELD_TENSOR, TN_REQUIRED, NULL,
             "f32: a slope for each channel, or one"),
};
static const tn_port prelu_inputs[] = {TN_PORT("x", "f32", 0, "channels are axis 1")};
static const tn_port prelu_outputs[] = {TN_PORT("y", "f32", 0, "as x")};

/* How x divides: `channels` channels of `plane` elements each, one behind the other, as often as
 * there are images. */
typedef struct prelu_extents {
    int64_t channels, plane;
} prelu_extents;

static prelu_extents prelu_divide(const tn_tensor *x) {
    prelu_extents extents = {x->rank < 2 ? 1 : x->shape[1], 1};
    for (uint32_t i = 2; i < x->rank; i++)
        extents.plane *= x->shape[i];
    return extents;
}

static int64_t element_count(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static tn_status prelu_infer(tn_call *call) {
    const prelu_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *slope = params->slope;
    const int64_t count = element_count(slope),
                  channels = params->channel_shared ? 1 : prelu_divide(x).channels;
    if (slope->type != TN_F32)
        return call->host->fail(call, TN_ERROR_TYPE, "field 'slope' must be of f32");
    if (count != channels)
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'slope' has %lld elements, not %lld",
                                (long long)count, (long long)channels);
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

/* What is meant, element by element. */
static tn_status prelu_reference(tn_call *call) {
    const prelu_params *params = call->params;
    const float *x = call->inputs[0]->data, *slope = params->slope->data;
    float *y = call->outputs[0]->data;
    const prelu_extents extents = prelu_divide(call->inputs[0]);
    const int64_t count = element_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++) {
        const int64_t channel = params->channel_shared ? 0 : i / extents.plane % extents.channels;
        y[i] = x[i] > 0 ? x[i] : (float)((double)slope[channel] * (double)x[i]);
    }
    return TN_OK;
}

/* With one slope for all it is a leaky ReLU, which kernels of convolutions do as they store: then
 * no kernel of this library runs at all. */
static tn_status prelu_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const prelu_params *params = call->params;
    if (input != 0 || !params->channel_shared || strcmp(name, TN_FACET_ACTIVATION) != 0)
        return TN_ERROR_UNSUPPORTED;
    tn_facet_activation *activation = out_facet->what;
    activation->size = sizeof(*activation);
    activation->function = TN_ACTIVATION_LEAKY_RELU;
    activation->alpha = *(const float *)params->slope->data;
    out_facet->variant = "leaky_relu";
    return TN_OK;
}

static void scale_negative(const float *x, float *y, int64_t count, float slope) {
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

/* Planes begin..end-1 of all images. */
static tn_status prelu_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const prelu_params *params = call->params;
    const float *x = call->inputs[0]->data, *slope = params->slope->data;
    float *y = call->outputs[0]->data;
    const prelu_extents extents = prelu_divide(call->inputs[0]);
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        scale_negative(x + i * extents.plane, y + i * extents.plane, extents.plane,
                       slope[params->channel_shared ? 0 : i % extents.channels]);
    return TN_OK;
}

static tn_status prelu_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const prelu_extents extents = prelu_divide(x);
    if (x->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, element_count(x) / extents.plane,
                                    8192 / extents.plane + 1, prelu_planes, call);
}

static const char *const prelu_cases[] = {
    "channel_shared=true slope=f32[1]{0.25} | x=f32[2,3,5,7]",
    "slope=f32[3]{0.25,-0.5,2} | x=f32[2,3,5,7]",
    "slope=f32[4]{0,1,0.1,0.01} | x=f32[3,4]",
    "slope=f32[1]{0.25} | x=f32[9]",
    "slope=f32[2]{0.25,0.5} | x=f32[0,2,3]",
};
static const tn_operator prelu = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Caffe",
    .name = "PReLU",
    .doc = "Rectified linear unit with learned slopes for negative values.",
    TN_FIELDS(prelu_params, prelu_fields),
    TN_INPUTS(prelu_inputs),
    TN_OUTPUTS(prelu_outputs),
    .infer = prelu_infer,
    .reference = prelu_reference,
    .facet = prelu_facet,
    TN_CASES(prelu_cases),
};

static const char *const prelu_combinations[] = {"f32 -> f32"};
static const tn_kernel prelu_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Caffe",
    .op = "PReLU",
    .device = "cpu",
    .name = "planes",
    .doc = "A plane at a time, each with its slope.",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(prelu_combinations),
    .run = prelu_run,
};

static const tn_operator *const operators[] = {&prelu};
#ifdef WITH_CUDA
extern const tn_kernel caffe_prelu_cuda; /* cuda.cu */
static const tn_kernel *const kernels[] = {&prelu_cpu, &caffe_prelu_cuda};
#else
static const tn_kernel *const kernels[] = {&prelu_cpu};
#endif
TN_LIBRARY("caffe_prelu", "1.0", operators, kernels)

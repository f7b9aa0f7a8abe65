/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConvTranspose: the gradient of a convolution as a layer: each input element adds a kernel, scaled
 * by it, to the output. window.c resolves the fields; the reference uses kit/window/convolve.h.
 */
#include "conv_transpose/conv_transpose.h"
#include <tenon/kit/known_steps.h>
#include "kit/operator/layer.h"
#include "kit/window/convolve.h"

#define LIST(member, doc)                                                                          \
    TN_FIELD(tn_conv_transpose_params, member, TN_FIELD_I64S, TN_OPTIONAL, NULL, doc)
static const tn_field conv_transpose_fields[] = {
    TN_FIELD_CHOICE(tn_conv_transpose_params, auto_pad, TN_FIELD_ENUM, TN_OPTIONAL, "NOTSET",
                    TN_AUTO_PAD_CHOICES, "where padding comes from; NOTSET: from pads"),
    TN_FIELD_RANGE(tn_conv_transpose_params, group, TN_FIELD_I64, TN_OPTIONAL, "1", 1,
                   9007199254740992.0, "number of groups that channels and filters are split into"),
    LIST(kernel_shape, "extents of the kernel; absent: W's"),
    LIST(strides, "distance of neighbouring inputs in the output; absent: 1"),
    LIST(dilations, "distance of the kernel's elements; absent: 1"),
    LIST(pads, "elements taken from the output before each spatial axis, then after; absent: 0"),
    LIST(output_padding, "elements added at the end of each spatial axis; absent: 0"),
    LIST(output_shape, "the output's spatial extents, from which pads follow; absent: from pads"),
};

static tn_status check_channels(tn_call *call) {
    const tn_conv_transpose_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_CONV_TRANSPOSE_X], *w = call->inputs[TN_CONV_TRANSPOSE_W];
    const tn_tensor *b = tn_infer_input(call, TN_CONV_TRANSPOSE_B);
    int64_t filters;
    if (w->shape[0] != x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "X has %lld channels, but W is for %lld",
                                (long long)x->shape[1], (long long)w->shape[0]);
    if (x->shape[1] % params->group != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "X has %lld channels, which %lld groups cannot share evenly",
                                (long long)x->shape[1], (long long)params->group);
    if (!tn_infer_multiply(w->shape[1], params->group, &filters) ||
        (b && (b->rank != 1 || b->shape[0] != filters)))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "B must be a vector of the %lld filters of %lld groups each",
                                (long long)w->shape[1], (long long)params->group);
    return TN_OK;
}

static tn_status conv_transpose_infer(tn_call *call) {
    const tn_conv_transpose_params *params = call->params;
    tn_window window;
    TN_TRY(tn_conv_transpose_window(call, &window));
    TN_TRY(check_channels(call));
    int64_t shape[TN_MAX_RANK] = {call->inputs[TN_CONV_TRANSPOSE_X]->shape[0],
                                  call->inputs[TN_CONV_TRANSPOSE_W]->shape[1] * params->group};
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.output[i];
    return tn_infer_set_shape(call, 0, window.rank + 2, shape);
}

/* The input that adds to an output position through a kernel's element: none where the stride steps
 * over it. */
static int64_t find_input(const tn_window *window, const int64_t *position, const int64_t *tap) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t at = position[i] + window->pad_begin[i] - tap[i] * window->dilation[i];
        if (at < 0 || at % window->stride[i] != 0) return -1;
        at /= window->stride[i];
        if (at >= window->input[i]) return -1;
        offset = offset * window->input[i] + at;
    }
    return offset;
}

static tn_status read_convolution(tn_call *call, tn_window *window,
                                  tn_convolution *out_convolution) {
    const tn_conv_transpose_params *params = call->params;
    const tn_tensor *w = call->inputs[TN_CONV_TRANSPOSE_W];
    TN_TRY(tn_conv_transpose_window(call, window));
    *out_convolution = (tn_convolution){
        .x = call->inputs[TN_CONV_TRANSPOSE_X],
        .w = w,
        .b = tn_infer_input(call, TN_CONV_TRANSPOSE_B),
        .y = call->outputs[0],
        .window = window,
        .groups = params->group,
        .channels = w->shape[0] / params->group,
        .filters = w->shape[1],
        .channels_first = true,
        .find = find_input,
    };
    return TN_OK;
}

static tn_status conv_transpose_reference(tn_call *call) {
    tn_window window;
    tn_convolution convolution;
    TN_TRY(read_convolution(call, &window, &convolution));
    return tn_convolve(call, &convolution);
}

static tn_status conv_transpose_reshape(tn_call *call) {
    tn_window window;
    tn_convolution convolution;
    TN_TRY(read_convolution(call, &window, &convolution));
    const uint64_t bytes = tn_convolve_bytes(&convolution);
    if (bytes == 0) return call->host->fail(call, TN_ERROR_MEMORY, "the filters are too large");
    call->workspace_bytes = call->threads * bytes;
    return TN_OK;
}

static tn_status conv_transpose_run(tn_call *call) {
    tn_window window;
    tn_convolution convolution;
    TN_TRY(read_convolution(call, &window, &convolution));
    return tn_convolve_parallel(call, &convolution);
}

static const tn_port conv_transpose_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("W", "T", 0, "channels, filters of a group, kernel's extents"),
    TN_PORT("B", "T", TN_PORT_OPTIONAL, "a bias a filter"),
};
static const tn_port conv_transpose_outputs[] = {
    TN_PORT("Y", "T", 0, "batch, filters, spatial axes")};
static const char *const conv_transpose_cases[] = {
    "| X=f32[1,1,1,1] W=f32[1,1,1,1]",
    "| X=f32[2,3,5,4] W=f32[3,2,3,3] B=f32[2]",
    "strides=[2,3] pads=[1,0,0,1] output_padding=[1,2] | X=f32[1,2,4,5] W=f32[2,3,3,3]",
    "strides=[3,2] output_shape=[10,8] | X=f32[1,1,3,3] W=f32[1,2,3,3]",
    "auto_pad=SAME_UPPER strides=[2,2] | X=f32[1,2,5,5] W=f32[2,2,3,3]",
    "group=2 dilations=[2,2] | X=f32[1,4,4,4] W=f32[4,3,2,2] B=f32[6]",
    "strides=[2] | X=f64[1,2,7] W=f64[2,3,4]",
    "| X=f16[1,2,3,4,3] W=f16[2,2,2,2,2]",
    "strides=[2,2] pads=[1,1,1,1] | X=f32[1,32,28,28] W=f32[32,16,4,4] B=f32[16]",
};

/* With groups, a slice of W belongs to a filter of each. */
static tn_status conv_transpose_facet(tn_call *call, uint32_t input, const char *name,
                                      tn_facet *out_facet) {
    if (!tn_known_is(name, TN_FACET_LINEAR)) return TN_ERROR_UNSUPPORTED;
    tn_linear *out_linear = out_facet->what;
    (void)input;
    const tn_conv_transpose_params *params = call->params;
    if (params->group != 1) return TN_ERROR_UNSUPPORTED;
    out_linear->axis = 1;
    out_linear->weights = TN_CONV_TRANSPOSE_W;
    out_linear->weights_axis = 1;
    out_linear->bias = TN_CONV_TRANSPOSE_B;
    return TN_OK;
}

/* Each input takes part in as many outputs as its channel's filters have taps. */
static tn_status conv_transpose_operations(tn_call *call, double *out_operations) {
    const tn_tensor *x = call->inputs[TN_CONV_TRANSPOSE_X];
    const tn_tensor *w = call->inputs[TN_CONV_TRANSPOSE_W];
    double operations = 2;
    for (uint32_t axis = 0; axis < x->rank; axis++)
        operations *= (double)x->shape[axis];
    for (uint32_t axis = 1; axis < w->rank; axis++)
        operations *= (double)w->shape[axis];
    *out_operations = operations;
    return TN_OK;
}

TN_OPERATOR(conv_transpose, "", "ConvTranspose", 1, "Transposed convolution.",
            TN_FIELDS(tn_conv_transpose_params, conv_transpose_fields),
            .facet = conv_transpose_facet, .operations = conv_transpose_operations);

TN_CPU_KERNEL(conv_transpose_panels, "", "ConvTranspose", "panels",
              "Panels of positions on all threads, in double precision.",
              .reshape = conv_transpose_reshape, .run = conv_transpose_run);

TN_LAYER(conv_transpose, TN_OPERATORS(&conv_transpose_1),
         TN_KERNELS(TN_LEVEL_LIST(tn_conv_transpose_products), &conv_transpose_panels));

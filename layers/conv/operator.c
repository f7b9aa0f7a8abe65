/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv: the convolution of networks (a correlation), with groups, strides, dilations and padding,
 * in one to six spatial axes. The reference is in reference.c, kernels beside it.
 */
#include "conv/conv.h"
#include "conv/kernels.h"
#include <tenon/kit/known_steps.h>
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include "kit/widened/widened.h"

const tn_field tn_conv_fields[TN_CONV_FIELDS] = {
    TN_FIELD_CHOICE(tn_conv_params, auto_pad, TN_FIELD_ENUM, TN_OPTIONAL, "NOTSET",
                    TN_AUTO_PAD_CHOICES, "where padding comes from; NOTSET: from pads"),
    TN_FIELD_RANGE(tn_conv_params, group, TN_FIELD_I64, TN_OPTIONAL, "1", 1, 9007199254740992.0,
                   "number of groups that channels and filters are split into"),
    TN_FIELD(tn_conv_params, kernel_shape, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "extents of the kernel; absent: W's"),
    TN_FIELD_STRIDES(tn_conv_params),
    TN_FIELD_DILATIONS(tn_conv_params),
    TN_FIELD_PADS(tn_conv_params),
};

static tn_status check_channels(tn_call *call) {
    const tn_conv_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[TN_CONV_W];
    const tn_tensor *b = tn_infer_input(call, TN_CONV_B);
    int64_t channels;
    if (!tn_infer_multiply(w->shape[1], params->group, &channels) || channels != x->shape[1])
        return call->host->fail(
            call, TN_ERROR_SHAPE, "X has %lld channels, but W has %lld a group in %lld groups",
            (long long)x->shape[1], (long long)w->shape[1], (long long)params->group);
    if (w->shape[0] % params->group != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "W has %lld filters, which %lld groups cannot share evenly",
                                (long long)w->shape[0], (long long)params->group);
    if (b && (b->rank != 1 || b->shape[0] != w->shape[0]))
        return call->host->fail(call, TN_ERROR_SHAPE, "B must be a vector of W's %lld filters",
                                (long long)w->shape[0]);
    return TN_OK;
}

tn_status tn_conv_window(tn_call *call, tn_window *out_window) {
    const tn_conv_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_CONV_X, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TN_CONV_X];
    TN_TRY(tn_infer_require_rank(call, TN_CONV_W, x->rank, x->rank));
    const tn_tensor *w = call->inputs[TN_CONV_W];
    TN_TRY(check_channels(call));
    uint32_t rank = x->rank - 2;
    if (params->kernel_shape.count != 0 && params->kernel_shape.count != rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'kernel_shape' has %llu numbers for %u spatial axes",
                                (unsigned long long)params->kernel_shape.count, rank);
    for (uint32_t i = 0; i < rank && params->kernel_shape.count; i++)
        if (params->kernel_shape.items[i] != w->shape[2 + i])
            return call->host->fail(
                call, TN_ERROR_SHAPE, "field 'kernel_shape' says %lld where W has %lld",
                (long long)params->kernel_shape.items[i], (long long)w->shape[2 + i]);
    tn_window_fields fields = {.kernel = {rank, w->shape + 2},
                               .strides = params->strides,
                               .dilations = params->dilations,
                               .pads = params->pads,
                               .auto_pad = params->auto_pad};
    return tn_window_resolve(call, &fields, rank, x->shape + 2, out_window);
}

static tn_status conv_infer(tn_call *call) {
    tn_window window;
    TN_TRY(tn_conv_window(call, &window));
    int64_t shape[TN_MAX_RANK] = {call->inputs[TN_CONV_X]->shape[0],
                                  call->inputs[TN_CONV_W]->shape[0]};
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.output[i];
    return tn_infer_set_shape(call, 0, window.rank + 2, shape);
}

static const tn_port conv_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("W", "T", 0, "filters, channels of a group, kernel's extents"),
    TN_PORT("B", "T", TN_PORT_OPTIONAL, "a bias a filter"),
};
static const tn_port conv_outputs[] = {
    TN_PORT("Y", "T", 0, "batch, filters, spatial axes"),
};
static const char *const conv_cases[] = {
    "| X=f32[1,1,1,1] W=f32[1,1,1,1]",
    "| X=f32[2,3,7,9] W=f32[5,3,3,3] B=f32[5]",
    "pads=[1,1,1,1] strides=[2,2] | X=f32[1,3,15,17] W=f32[8,3,3,3] B=f32[8]",
    "pads=[2,0,1,3] dilations=[2,3] | X=f32[1,2,11,13] W=f32[3,2,3,2]",
    "group=4 pads=[1,1,1,1] | X=f32[1,4,9,9] W=f32[8,1,3,3] B=f32[8]",
    "auto_pad=SAME_LOWER strides=[3,2] | X=f32[1,2,10,10] W=f32[2,2,4,4]",
    "strides=[2] | X=f32[2,3,31] W=f32[4,3,5] B=f32[4]",
    "pads=[1,1,1,1,1,1] | X=f32[1,2,5,6,7] W=f32[3,2,3,3,3]",
    "| X=f64[1,2,5,5] W=f64[2,2,2,2]",
    "pads=[1,1,1,1] | X=f16[1,8,9,9] W=f16[4,8,3,3] B=f16[4]",
    "group=3 strides=[2,1] pads=[0,1,2,1] | X=bf16[2,9,15,17] W=bf16[24,3,5,3]",
    "group=35 pads=[1,2,0,1] strides=[1,2] | X=f32[2,35,9,11] W=f32[35,1,3,3] B=f32[35]",
    "group=70 pads=[1,0,1,2] strides=[2,1] | X=f32[2,70,8,7] W=f32[70,1,3,3] B=f32[70]",
    "group=16 pads=[4,4,4,4] dilations=[2,3] | X=f32[1,16,5,7] W=f32[16,1,3,3]",
    "group=3 | X=f32[1,6,8,9] W=f32[9,2,3,2] B=f32[9]",
    "pads=[2,2,2,2] | X=f32[1,4,11,23] W=f32[3,4,5,5] B=f32[3]",
    "pads=[0,1,0,1] strides=[1,2] | X=f32[1,1,6,33] W=f32[1,1,3,5]",
    "| X=f32[0,3,8,8] W=f32[2,3,3,3]",
    "pads=[4,4,4,4] | X=f32[1,3,13,37] W=f32[24,3,9,9] B=f32[24]",
    "pads=[3,3,3,3] strides=[2,2] | X=f32[2,3,21,41] W=f32[70,3,7,7]",
    "pads=[2,0,1,2] | X=f32[1,1,12,33] W=f32[16,1,5,4] B=f32[16]",
    "pads=[2,2,2,2] | X=f32[2,32,9,35] W=f32[3,32,5,5] B=f32[3]",
    "pads=[1,0,1,2] | X=f32[1,64,10,37] W=f32[2,64,3,3] B=f32[2]",
    "pads=[1,1,1,1] | X=f32[1,64,56,56] W=f32[64,64,3,3] B=f32[64]",
    "pads=[1,0,2,1] strides=[1,2] dilations=[2,1] | X=f32[2,56,9,13] W=f32[44,56,3,2] B=f32[44]",
    "strides=[2,1] | X=f32[3,24,17,15] W=f32[20,24,1,1] B=f32[20]",
    "| X=f32[2,48,9,7] W=f32[20,48,1,1] B=f32[20]",
    "pads=[1,1,1,1] strides=[2,2] | X=f32[1,160,15,15] W=f32[72,160,3,3]",
    "pads=[1,1] strides=[3] | X=f32[2,80,101] W=f32[36,80,5]",
    /* rows of the kernel that see padding alone, in some output rows or in all of them */
    "pads=[1,1,1,1] | X=f32[1,32,2,33] W=f32[24,32,3,3] B=f32[24]",
    "pads=[5,1,4,1] | X=f32[2,8,1,21] W=f32[9,8,3,3] B=f32[9]",
    "pads=[4,2,7,2] strides=[2,1] dilations=[3,2] | X=f32[1,8,5,19] W=f32[9,8,3,3] B=f32[9]",
    /* rows that are done in pieces, with and without phases and padding */
    "pads=[4,5] strides=[2] dilations=[3] | X=f32[1,96,1500] W=f32[9,96,4] B=f32[9]",
    "pads=[1,1,0,1] | X=f32[1,300,3,333] W=f32[4,300,3,3] B=f32[4]",
    "pads=[2,2] | X=f32[1,2,257] W=f32[3,2,5]",
    /* volumes: planes of the kernel that see padding alone, kernels of one plane, row or column */
    "pads=[1,1,1,1,1,1] | X=f32[2,3,4,9,20] W=f32[9,3,3,3,3] B=f32[9]",
    "pads=[2,1,1,3,0,1] strides=[2,1,2] dilations=[2,2,1] | X=f32[1,5,6,9,37] W=f32[7,5,3,2,3]",
    "group=2 pads=[1,1,1,1,1,1] strides=[2,2,2] | X=f32[2,8,1,12,12] W=f32[12,4,3,3,3] B=f32[12]",
    "pads=[1,0,0,1,0,0] | X=f32[1,16,5,7,9] W=f32[12,16,3,1,1] B=f32[12]",
    "pads=[0,1,1,0,1,1] | X=f32[1,16,3,10,11] W=f32[10,16,1,3,3]",
    "| X=f32[2,24,3,5,7] W=f32[20,24,1,1,1] B=f32[20]",
    "strides=[2,2,2] pads=[1,0,0,1,0,0] | X=f32[1,24,4,6,8] W=f32[20,24,1,1,1]",
    "pads=[1,1,1,1,1,1] | X=f32[1,2,3,5,40] W=f32[3,2,1,3,3]",
    "pads=[1,1,1,1,1,1] | X=bf16[1,4,3,5,9] W=bf16[3,4,3,3,3]",
    /* tiles that are not whole, channels and filters that are not, more tiles than a block has */
    "pads=[1,1,1,1] | X=f32[2,20,13,18] W=f32[27,20,3,3] B=f32[27]",
    "pads=[2,0,1,3] | X=f32[3,3,9,7] W=f32[40,3,3,3]",
    "| X=f32[1,70,6,31] W=f32[5,70,3,3] B=f32[5]",
    "pads=[1,1,1,1] | X=f32[1,24,14,14] W=f32[72,24,3,3] B=f32[72]",
    /* whole images in a tile, for means of them: few pixels, one, and more than half a tile */
    "| X=f32[2,64,7,7] W=f32[72,64,1,1] B=f32[72]",
    "pads=[1,1,1,1] | X=f32[2,160,7,7] W=f32[76,160,3,3] B=f32[76]",
    "| X=f32[3,40,1,1] W=f32[36,40,1,1] B=f32[36]",
    "| X=f32[3,128,9,8] W=f32[20,128,1,1]",
    "pads=[1,1,1,1] strides=[2,2] | X=f32[1,64,17,19] W=f32[44,64,3,3] B=f32[44]",
};

/* Each output takes a filter's taps, each a multiplication and an addition. */
static tn_status conv_operations(tn_call *call, double *out_operations) {
    const tn_tensor *w = call->inputs[TN_CONV_W], *y = call->outputs[0];
    double operations = 2;
    for (uint32_t axis = 0; axis < y->rank; axis++)
        operations *= (double)y->shape[axis];
    for (uint32_t axis = 1; axis < w->rank; axis++)
        operations *= (double)w->shape[axis];
    *out_operations = operations;
    return TN_OK;
}

static const tn_operator conv_1 = {
    TN_OPERATOR_BEGIN("", "Conv", 1, "Convolution of a batch with a bank of filters."),
    TN_FIELDS(tn_conv_params, tn_conv_fields),
    TN_INPUTS(conv_inputs),
    TN_OUTPUTS(conv_outputs),
    .infer = conv_infer,
    .reference = tn_conv_reference,
    TN_CASES(conv_cases),
    .facet = tn_conv_facet,
    .operations = conv_operations,
};

static const tn_operator *const conv_operators[] = {&conv_1, &tn_conv_integer_10,
                                                    &tn_q_linear_conv_10, &tn_q_linear_conv_add_1};
static const char *const halves[] = {"f16, f16, f16? -> f16", "bf16, bf16, bf16? -> bf16"};
TN_WIDENED_KERNELS(widened, tn_conv_direct, "Conv", TN_KERNEL_ANY_SHAPE, halves);

static const tn_kernel *const conv_kernels[] = {
#if defined(__x86_64__)
    &tn_conv_winograd_avx512,
    &tn_conv_winograd_avx2,
    TN_LEVEL_LIST(tn_conv_scaled_tiles),
    TN_LEVEL_LIST(tn_q_linear_conv_tiles),
    TN_LEVEL_LIST(tn_q_linear_conv_add_tiles),
#endif
    TN_LEVEL_LIST(widened),
    TN_LEVEL_LIST(tn_conv_direct),
    TN_LEVEL_LIST(tn_conv_int8),
    TN_LEVEL_LIST(tn_conv_depthwise),
    TN_LEVEL_LIST(tn_conv_integer),
    TN_LEVEL_LIST(tn_q_linear_conv),
};
TN_LAYER_WITH_REWRITES(conv, conv_operators, conv_kernels, tn_conv_rewrites);

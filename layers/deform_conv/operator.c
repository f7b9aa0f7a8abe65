/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeformConv: convolution whose windows' elements are moved by offsets, and may be weighted by a
 * mask (Dai et al., "Deformable Convolutional Networks", 2017; Zhu et al., "Deformable ConvNets
 * v2", 2019). Between elements of X it is interpolated; outside there are zeros.
 */
#include "deform_conv/deform_conv.h"
#include "kit/operator/layer.h"

#define GROUPS(member, words)                                                                      \
    TN_FIELD_RANGE(tn_deform_conv_params, member, TN_FIELD_I64, TN_OPTIONAL, "1", 1, 2147483647.0, \
                   words)
static const tn_field deform_conv_fields[] = {
    GROUPS(group, "number of groups that channels and filters are split into"),
    GROUPS(offset_group, "number of groups of channels with offsets of their own"),
    TN_FIELD(tn_deform_conv_params, kernel_shape, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "extents of the kernel; absent: W's"),
    TN_FIELD_STRIDES(tn_deform_conv_params),
    TN_FIELD_DILATIONS(tn_deform_conv_params),
    TN_FIELD_PADS(tn_deform_conv_params),
};

static tn_status deform_conv_infer(tn_call *call) {
    tn_deform_geometry geometry;
    TN_TRY(tn_deform_conv_read(call, &geometry));
    int64_t shape[TN_MAX_RANK] = {geometry.images, geometry.filters};
    for (uint32_t i = 0; i < geometry.window.rank; i++)
        shape[2 + i] = geometry.window.output[i];
    return tn_infer_set_shape(call, 0, geometry.window.rank + 2, shape);
}

static tn_status deform_conv_reference(tn_call *call) {
    return tn_deform_conv_reference(call);
}

static tn_status deform_conv_operations(tn_call *call, double *out_operations) {
    const tn_tensor *w = call->inputs[TN_DEFORM_W];
    *out_operations = 2 * (double)tn_element_count(call->outputs[0]) *
                      (double)tn_infer_product(w->shape, 1, w->rank);
    return TN_OK;
}

static const tn_port deform_conv_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, one to three spatial axes"),
    TN_PORT("W", "T", 0, "filters, channels of a group, kernel's extents"),
    TN_PORT("offset", "T", 0,
            "batch, groups of offsets times kernel's elements times spatial axes, positions"),
    TN_PORT("B", "T", TN_PORT_OPTIONAL, "a bias a filter"),
    TN_PORT("mask", "T", TN_PORT_OPTIONAL,
            "batch, groups of offsets times kernel's elements, positions; absent: 1"),
};
static const tn_port deform_conv_outputs[] = {TN_PORT("Y", "T", 0, "batch, filters, positions")};
static const char *const deform_conv_cases[] = {
    "| X=f32[1,1,3,3] W=f32[1,1,2,2] offset=f32[1,8,2,2]",
    "pads=[1,1,1,1] | X=f32[2,3,7,9] W=f32[5,3,3,3] offset=f32[2,18,7,9] B=f32[5] "
    "mask=f32[2,9,7,9]",
    "group=2 offset_group=4 strides=[2,1] dilations=[1,2] | X=f32[1,4,9,8] W=f32[6,2,2,3] "
    "offset=f32[1,48,4,4]",
    "offset_group=2 pads=[0,1,1,0] | X=f64[1,2,4,5] W=f64[3,2,2,2] offset=f64[1,16,4,5] "
    "mask=f64[1,8,4,5]",
    "| X=f16[1,2,4,4] W=f16[2,2,3,3] offset=f16[1,18,2,2] B=f16[2]",
    "| X=f32[1,1,2,2]{1,2,3,4} W=f32[1,1,1,1]{2} offset=f32[1,2,2,2]{0,0.5,-1,0,0,0,0,5}"
    " | Y=f32[1,1,2,2]{2,6,2,0}",
    "| X=f32[1,1,2,3] W=f32[1,1,1,1] offset=f32[1,2,2,3]{nan,0,inf,1,0,-1e30,0,0,0,0,nan,3}",
    "pads=[1,1] | X=f32[2,2,9] W=f32[3,2,3] offset=f32[2,3,9] mask=f32[2,3,9]",
    "| X=f32[1,2,3,4,5] W=f32[2,2,2,2,2] offset=f32[1,24,2,3,4]",
    "| X=f32[0,1,3,3] W=f32[1,1,2,2] offset=f32[0,8,2,2]",
    "| X=f32[1,2,3,3] W=f32[0,2,2,2] offset=f32[1,8,2,2]",
    "pads=[1,1,1,1] | X=f32[1,16,20,20] W=f32[24,16,3,3] offset=f32[1,18,20,20] "
    "mask=f32[1,9,20,20]",
};

TN_OPERATOR(deform_conv, "", "DeformConv", 19, "Convolution with windows moved by offsets.",
            TN_FIELDS(tn_deform_conv_params, deform_conv_fields),
            .operations = deform_conv_operations);

TN_LAYER(deform_conv, TN_OPERATORS(&deform_conv_19), TN_KERNELS(TN_LEVEL_LIST(tn_deform_conv)));

/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator ConvTranspose and its kernels share: the fields, and the window they mean. */
#ifndef TN_LAYERS_CONV_TRANSPOSE_CONV_TRANSPOSE_H
#define TN_LAYERS_CONV_TRANSPOSE_CONV_TRANSPOSE_H

#include "kit/operator/layer.h"
#include "kit/window/window.h"

typedef struct tn_conv_transpose_params {
    uint64_t present;
    uint32_t auto_pad; /* TN_AUTO_PAD_... */
    int64_t group;
    tn_i64s kernel_shape, strides, dilations, pads, output_padding, output_shape;
} tn_conv_transpose_params;

/* Inputs: X [batch, channels, spatial...], W [channels, filters / group, kernel...], B [filters] or
 * absent. Output: Y [batch, filters, spatial...]. */
enum { TN_CONV_TRANSPOSE_X = 0, TN_CONV_TRANSPOSE_W = 1, TN_CONV_TRANSPOSE_B = 2 };

/* Checks the shapes and fields of a ConvTranspose node. In the window, input position i adds to the
 * outputs i * stride - pad_begin + k * dilation: it is the window of the convolution whose gradient
 * this is, with `input` and `output` as this node has them. */
tn_status tn_conv_transpose_window(tn_call *call, tn_window *out_window);

/* products.c */
TN_LEVEL_KERNELS_EXTERN(tn_conv_transpose_products);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of convolutions and pooling that oneDNN's kernels read, as kernels' own: the
 * operators' parameter structs are theirs.
 */
#ifndef TN_LAYERS_ONEDNN_WINDOW_FIELDS_H
#define TN_LAYERS_ONEDNN_WINDOW_FIELDS_H

#include "kit/window/window.h"

/* Of Conv, ConvTranspose, MaxPool and AveragePool: what an operator lacks has its default. */
typedef struct tn_dnnl_window_params {
    uint64_t present;
    uint32_t auto_pad; /* TN_AUTO_PAD_... */
    bool ceil_mode, count_include_pad;
    int64_t group;
    tn_i64s kernel_shape, strides, dilations, pads, output_padding, output_shape;
} tn_dnnl_window_params;

enum { TN_DNNL_WINDOW_FIELDS = 10 };
extern const tn_field tn_dnnl_window_fields[TN_DNNL_WINDOW_FIELDS];

/* The windows of a Conv, of a QLinearConv, of a ConvTranspose (of the convolution whose gradient it
 * is, with `input` and `output` as the node has them), and of a pooling, of two spatial axes.
 * Shapes are known to be sound. TN_ERROR_UNSUPPORTED: another number of axes. */
tn_status tn_dnnl_conv_window(tn_call *call, tn_window *out_window);
tn_status tn_dnnl_integer_conv_window(tn_call *call, tn_window *out_window);
tn_status tn_dnnl_conv_transpose_window(tn_call *call, tn_window *out_window);
tn_status tn_dnnl_pool_window(tn_call *call, tn_window *out_window);

#endif

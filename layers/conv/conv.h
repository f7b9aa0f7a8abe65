/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Conv and its kernels share: the fields, and the window they mean. */
#ifndef TN_LAYERS_CONV_CONV_H
#define TN_LAYERS_CONV_CONV_H

#include "kit/window/window.h"

typedef struct tn_conv_params {
    uint64_t present;
    uint32_t auto_pad; /* TN_AUTO_PAD_... */
    int64_t group;
    tn_i64s kernel_shape, strides, dilations, pads;
} tn_conv_params;

enum { TN_CONV_FIELDS = 6 };
extern const tn_field tn_conv_fields[TN_CONV_FIELDS];

/* Inputs: X [batch, channels, spatial...], W [filters, channels / group, kernel...], B [filters]
 * or absent. Output: Y [batch, filters, spatial...]. */
enum { TN_CONV_X = 0, TN_CONV_W = 1, TN_CONV_B = 2 };

/* Checks the shapes and fields of a Conv node and resolves its window; the kernel's extents are
 * W's. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_conv_window(tn_call *call, tn_window *out_window);

tn_status tn_conv_reference(tn_call *call) TN_NOEXCEPT;
/* tn.linear/1, and tn.convolution/1 of tenon/plugin/before.h. */
tn_status tn_conv_facet(tn_call *call, uint32_t input, const char *name,
                        tn_facet *out_facet) TN_NOEXCEPT;

#endif

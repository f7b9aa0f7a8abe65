/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of operations with a window over spatial axes, shared by operations_window.c (which
 * implements this) and operations_conv.c. */
#ifndef TN_IMPORTERS_UFF_OPERATIONS_WINDOW_H
#define TN_IMPORTERS_UFF_OPERATIONS_WINDOW_H

#include "importers/uff/uff.h"

/* Lists count spatial axes in natural order. */
typedef struct tn_uff_window {
    uint32_t rank; /* of spatial axes */
    int64_t kernel[TN_MAX_RANK], strides[TN_MAX_RANK], dilations[TN_MAX_RANK];
    int64_t pads[2 * TN_MAX_RANK]; /* before each axis, then after each */
    bool is_same; /* padding so that out = ceil(in / stride), the odd one at the end */
} tn_uff_window;

/* Strides, dilation and padding; rank and kernel are set by the caller. */
tn_status tn_uff_window_read(tn_uff_reader *reader, const tn_uff_node *node,
                             tn_uff_window *out_window);
/* As attributes of an operator, but for the kernel and the dilations. */
void tn_uff_window_add(const tn_uff_window *window, tn_uff_attributes *attributes);
/* The output's extent along a spatial axis of a convolution or pool. */
int64_t tn_uff_window_extent(tn_uff_reader *reader, const tn_uff_window *window, uint32_t axis,
                             int64_t in);
/* Gives the output the first input's shape, and the order that the node's dimension orders ask of
 * that input. */
tn_status tn_uff_window_order(const tn_uff_reader *reader, tn_uff_call *call,
                              uint32_t minimum_rank);

#endif

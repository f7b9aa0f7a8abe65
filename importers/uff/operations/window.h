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
tn_status tn_uff_window_read(const tn_uff_call *call, tn_uff_window *out_window);
/* A list of a node, of one number for each spatial axis, none below the fallback. */
tn_status tn_uff_window_list(const tn_uff_call *call, const char *name, uint32_t rank,
                             int64_t fallback, int64_t *out_items);
/* As fields 1 and 2 of an operator, which the window outlives; kernel and dilations are left out.
 */
tn_emit_fields tn_uff_window_fields(const tn_uff_window *window);
/* The output's spatial extents, by those of the input that it has. */
void tn_uff_window_shape(tn_uff_call *call, const tn_uff_window *window);
/* Gives the output the first input's shape, and the order that the node's dimension orders ask of
 * that input. */
tn_status tn_uff_window_order(tn_uff_call *call, uint32_t minimum_rank);

#endif

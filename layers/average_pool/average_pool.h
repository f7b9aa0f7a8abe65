/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator AveragePool and its kernels share: the fields, and the window they mean. */
#ifndef TN_LAYERS_AVERAGE_POOL_AVERAGE_POOL_H
#define TN_LAYERS_AVERAGE_POOL_AVERAGE_POOL_H

#include "kit/window/window.h"

typedef struct tn_average_pool_params {
    uint64_t present;
    uint32_t auto_pad; /* TN_AUTO_PAD_... */
    bool ceil_mode;
    bool count_include_pad;
    tn_i64s kernel_shape, strides, dilations, pads;
} tn_average_pool_params;

/* Checks the shape and fields of an AveragePool node and resolves its window. */
tn_status tn_average_pool_window(tn_call *call, tn_window *out_window);

#endif

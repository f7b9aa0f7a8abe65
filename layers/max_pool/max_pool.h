/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator MaxPool and its kernels share: the fields, and the window they mean. */
#ifndef TN_LAYERS_MAX_POOL_MAX_POOL_H
#define TN_LAYERS_MAX_POOL_MAX_POOL_H

#include "kit/window/window.h"

typedef struct tn_max_pool_params {
    uint64_t present;
    uint32_t auto_pad; /* TN_AUTO_PAD_... */
    bool ceil_mode;
    uint32_t storage_order; /* of the indices: 0 row-major, 1 column-major */
    tn_i64s kernel_shape, strides, dilations, pads;
} tn_max_pool_params;

/* Input X [batch, channels, spatial...]; outputs Y and, where asked for, Indices. */
enum { TN_MAX_POOL_Y = 0, TN_MAX_POOL_INDICES = 1 };

/* Checks the shape and fields of a MaxPool node and resolves its window. */
tn_status tn_max_pool_window(tn_call *call, tn_window *out_window);

tn_status tn_max_pool_reference(tn_call *call) TN_NOEXCEPT;

#endif

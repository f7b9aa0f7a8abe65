/* SPDX-License-Identifier: Apache-2.0 */
/* What the pools and their kernels share: the fields, and the window they mean. */
#ifndef TN_LAYERS_POOL_POOL_H
#define TN_LAYERS_POOL_POOL_H

#include "kit/operator/layer.h"
#include "kit/window/byte_pool.h"

typedef struct tn_pool_params {
    uint64_t present;
    uint32_t auto_pad; /* TN_AUTO_PAD_... */
    bool ceil_mode;
    bool count_include_pad; /* AveragePool */
    uint32_t storage_order; /* MaxPool's indices: 0 row-major, 1 column-major */
    tn_i64s kernel_shape, strides, dilations, pads;
    double p; /* LpPool */
} tn_pool_params;

typedef struct tn_global_lp_pool_params {
    uint64_t present;
    double p;
} tn_global_lp_pool_params;

/* Input X [batch, channels, spatial...]; outputs Y and, where MaxPool is asked for it, Indices. */
enum { TN_POOL_Y = 0, TN_POOL_INDICES = 1 };

/* Checks the shape and fields of a node with windows and resolves its window. */
tn_status tn_pool_window(tn_call *call, tn_window *out_window);

tn_status tn_max_pool_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_average_pool_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_global_max_pool_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_global_average_pool_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_lp_pool_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_global_lp_pool_reference(tn_call *call) TN_NOEXCEPT;
/* The same on the engine's threads. [called: run] */
tn_status tn_max_pool_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_average_pool_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_global_max_pool_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_global_average_pool_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_lp_pool_run(tn_call *call) TN_NOEXCEPT;
tn_status tn_global_lp_pool_run(tn_call *call) TN_NOEXCEPT;

/* kernels.c: those of all pools. */
extern const tn_kernel *const tn_pool_kernels[19];

/* quantized/: means of 8-bit integers. */
extern const tn_operator tn_quantized_average_pool_1, tn_quantized_global_average_pool_1;
TN_LEVEL_KERNELS_EXTERN(tn_quantized_average);
TN_LEVEL_KERNELS_EXTERN(tn_quantized_global_average);
extern const tn_rewrite *const tn_means_rewrites[2];

#endif

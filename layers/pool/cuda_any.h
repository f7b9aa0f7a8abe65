/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA kernels of pools for all types, for cuda.c's table. */
#ifndef TN_LAYERS_POOL_CUDA_ANY_H
#define TN_LAYERS_POOL_CUDA_ANY_H

#include <tenon/plugin.h>

extern const tn_kernel tn_max_pool_cuda_any, tn_average_pool_cuda_any, tn_lp_pool_cuda_any,
    tn_global_max_pool_cuda_any, tn_global_average_pool_cuda_any, tn_global_lp_pool_cuda_any;

#endif

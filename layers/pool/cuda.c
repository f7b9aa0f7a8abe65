/* SPDX-License-Identifier: Apache-2.0 */
/* The pools on CUDA, by the kernels of kit/cuda/reduce/pool.h; what these have not (other types,
 * MaxPool's indices, LpPool) is cuda_any.c's. */
#include "kit/cuda/reduce/pool.h"
#include "pool/cuda_any.h"
#include "pool/pool.h"

static bool counts_pads(const tn_call *call) {
    const tn_pool_params *params = call->params;
    return params->count_include_pad;
}

TN_CUDA_POOL_KERNEL(max_pool, "MaxPool", tn_pool_window, NULL, false);
TN_CUDA_POOL_KERNEL(average_pool, "AveragePool", tn_pool_window, counts_pads, true);
TN_CUDA_PLANE_KERNEL(global_max_pool, "GlobalMaxPool", false);
TN_CUDA_PLANE_KERNEL(global_average_pool, "GlobalAveragePool", true);

TN_CUDA_LAYER(pool, &max_pool, &average_pool, &global_max_pool, &global_average_pool,
              &tn_max_pool_cuda_any, &tn_average_pool_cuda_any, &tn_lp_pool_cuda_any,
              &tn_global_max_pool_cuda_any, &tn_global_average_pool_cuda_any,
              &tn_global_lp_pool_cuda_any);

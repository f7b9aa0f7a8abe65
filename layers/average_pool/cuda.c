/* SPDX-License-Identifier: Apache-2.0 */
/* AveragePool on CUDA: a row of the table of kit/cuda/reduce/pool.h. */
#include "average_pool/average_pool.h"
#include "kit/cuda/reduce/pool.h"

static bool counts_pads(const tn_call *call) {
    const tn_average_pool_params *params = call->params;
    return params->count_include_pad;
}

static const tn_cuda_pool_user average_pool_user = {tn_average_pool_window, counts_pads, true};
TN_CUDA_POOL_KERNEL(average_pool, "AveragePool");

/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalAveragePool on CUDA: a row of the table of kit/cuda/reduce/pool.h. */
#include "kit/cuda/reduce/pool.h"

static const tn_cuda_pool_user global_average_pool_user = {NULL, NULL, true};
TN_CUDA_PLANE_KERNEL(global_average_pool, "GlobalAveragePool");

/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalMaxPool on CUDA: a row of the table of kit/cuda/reduce/pool.h. */
#include "kit/cuda/reduce/pool.h"

static const tn_cuda_pool_user global_max_pool_user = {NULL, NULL, false};
TN_CUDA_PLANE_KERNEL(global_max_pool, "GlobalMaxPool");

/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool on CUDA, without indices: a row of the table of kit/cuda/reduce/pool.h. */
#include "kit/cuda/reduce/pool.h"
#include "max_pool/max_pool.h"

static const tn_cuda_pool_user max_pool_user = {tn_max_pool_window, NULL, false};
TN_CUDA_POOL_KERNEL(max_pool, "MaxPool");

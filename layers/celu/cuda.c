/* SPDX-License-Identifier: Apache-2.0 */
/* Celu on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(celu, "", "Celu", TN_MAP_CELU, "alpha", NULL, tn_cuda_map_combinations);

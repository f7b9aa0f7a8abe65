/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(gelu, "", "Gelu", 0, NULL, NULL, tn_cuda_map_combinations);

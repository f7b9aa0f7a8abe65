/* SPDX-License-Identifier: Apache-2.0 */
/* Selu on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(selu, "", "Selu", TN_MAP_SELU, "alpha", "gamma", tn_cuda_map_combinations);

/* SPDX-License-Identifier: Apache-2.0 */
/* PRelu on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_COMBINE_KERNEL_AS(p_relu, "PRelu", TN_COMBINE_PRELU, 7, tn_cuda_combine_combinations);

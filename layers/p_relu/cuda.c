/* SPDX-License-Identifier: Apache-2.0 */
/* PRelu on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_COMBINE_KERNEL(p_relu, "PRelu", TN_COMBINE_PRELU, 7);

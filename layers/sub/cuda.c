/* SPDX-License-Identifier: Apache-2.0 */
/* Sub on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_COMBINE_KERNEL(sub, "Sub", TN_COMBINE_SUB, 0);

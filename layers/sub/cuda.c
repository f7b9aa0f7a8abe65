/* SPDX-License-Identifier: Apache-2.0 */
/* Sub on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_COMBINE_KERNEL(sub, "Sub", TN_COMBINE_SUB, 0);

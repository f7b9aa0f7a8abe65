/* SPDX-License-Identifier: Apache-2.0 */
/* Add on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_COMBINE_KERNEL(add, "Add", TN_COMBINE_ADD, 0);

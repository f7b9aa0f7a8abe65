/* SPDX-License-Identifier: Apache-2.0 */
/* Sum on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_SUM_KERNEL(sum, "Sum", TN_COMBINE_ADD);

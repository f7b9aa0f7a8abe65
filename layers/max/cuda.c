/* SPDX-License-Identifier: Apache-2.0 */
/* Max on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_SUM_KERNEL(max, "Max", TN_COMBINE_MAX);

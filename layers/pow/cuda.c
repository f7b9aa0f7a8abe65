/* SPDX-License-Identifier: Apache-2.0 */
/* Pow on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_COMBINE_KERNEL(pow, "Pow", TN_COMBINE_POW, 0);

/* SPDX-License-Identifier: Apache-2.0 */
/* Mul on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_COMBINE_KERNEL(mul, "Mul", TN_COMBINE_MUL, 0);

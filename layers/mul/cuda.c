/* SPDX-License-Identifier: Apache-2.0 */
/* Mul on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_COMBINE_KERNEL(mul, "Mul", TN_COMBINE_MUL, 0);

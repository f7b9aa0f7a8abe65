/* SPDX-License-Identifier: Apache-2.0 */
/* Pow on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_COMBINE_KERNEL(pow, "Pow", TN_COMBINE_POW, 0);

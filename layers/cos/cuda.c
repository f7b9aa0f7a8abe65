/* SPDX-License-Identifier: Apache-2.0 */
/* Cos on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL(cos, "Cos", TN_MAP_COS);

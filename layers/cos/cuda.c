/* SPDX-License-Identifier: Apache-2.0 */
/* Cos on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_MAP_KERNEL(cos, "Cos", TN_MAP_COS);

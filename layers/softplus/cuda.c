/* SPDX-License-Identifier: Apache-2.0 */
/* Softplus on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL(softplus, "Softplus", TN_MAP_SOFTPLUS);

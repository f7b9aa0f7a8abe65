/* SPDX-License-Identifier: Apache-2.0 */
/* Asin on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL(asin, "Asin", TN_MAP_ASIN);

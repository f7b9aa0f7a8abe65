/* SPDX-License-Identifier: Apache-2.0 */
/* Asin on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_MAP_KERNEL(asin, "Asin", TN_MAP_ASIN);

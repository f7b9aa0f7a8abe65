/* SPDX-License-Identifier: Apache-2.0 */
/* Min on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_SUM_KERNEL(min, "Min", TN_COMBINE_MIN);

/* SPDX-License-Identifier: Apache-2.0 */
/* Sum on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_SUM_KERNEL(sum, "Sum", TN_COMBINE_ADD);

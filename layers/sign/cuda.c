/* SPDX-License-Identifier: Apache-2.0 */
/* Sign on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_MAP_KERNEL(sign, "Sign", TN_MAP_SIGN);

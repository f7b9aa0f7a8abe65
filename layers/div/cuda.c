/* SPDX-License-Identifier: Apache-2.0 */
/* Div on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_COMBINE_KERNEL(div, "Div", TN_COMBINE_DIV, 0);

/* SPDX-License-Identifier: Apache-2.0 */
/* Div on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_COMBINE_KERNEL(div, "Div", TN_COMBINE_DIV, 0);

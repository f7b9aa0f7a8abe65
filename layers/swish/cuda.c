/* SPDX-License-Identifier: Apache-2.0 */
/* Swish on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_ACTIVATION_KERNEL(swish, "Swish");

/* SPDX-License-Identifier: Apache-2.0 */
/* Elu on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_ACTIVATION_KERNEL(elu, "Elu");

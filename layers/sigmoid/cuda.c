/* SPDX-License-Identifier: Apache-2.0 */
/* Sigmoid on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_ACTIVATION_KERNEL(sigmoid, "Sigmoid");

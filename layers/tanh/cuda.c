/* SPDX-License-Identifier: Apache-2.0 */
/* Tanh on CUDA: a row of the table of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/pointwise/pointwise.h"

TN_CUDA_ACTIVATION_KERNEL(tanh, "Tanh");

/* SPDX-License-Identifier: Apache-2.0 */
/* Tanh on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_ACTIVATION_KERNEL(tanh, "Tanh");

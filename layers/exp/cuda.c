/* SPDX-License-Identifier: Apache-2.0 */
/* Exp on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_MAP_KERNEL(exp, "Exp", TN_MAP_EXP);

/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose on CUDA: a copy of a box with its axes in another order. */
#include "kit/cuda/region/region.h"
#include "transpose/transpose.h"

TN_CUDA_MOVE_LAYER(transpose, "Transpose", tn_cuda_region_combinations, tn_transpose_move);

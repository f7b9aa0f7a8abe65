/* SPDX-License-Identifier: Apache-2.0 */
/* Expand on CUDA: a copy of a box with steps of zero. */
#include "kit/cuda/region/region.h"
#include "expand/expand.h"

TN_CUDA_MOVE_LAYER(expand, "Expand", tn_cuda_region_placed_combinations, tn_expand_move);

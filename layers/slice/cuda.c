/* SPDX-License-Identifier: Apache-2.0 */
/* Slice on CUDA: a copy of the box that is kept. */
#include "kit/cuda/region/region.h"
#include "slice/slice.h"

TN_CUDA_MOVE_LAYER(slice, "Slice", tn_cuda_region_placed_combinations, tn_slice_move);

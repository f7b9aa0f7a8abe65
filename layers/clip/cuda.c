/* SPDX-License-Identifier: Apache-2.0 */
/* Clip on CUDA: a row of the table of common/cuda/pointwise.h. */
#include "common/cuda/pointwise.h"

TN_CUDA_MAP_KERNEL_AS(clip, "", "Clip", 0, NULL, NULL, tn_cuda_clip_combinations);

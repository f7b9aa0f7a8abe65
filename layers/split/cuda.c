/* SPDX-License-Identifier: Apache-2.0 */
/* Split on CUDA: a copy of a box for each part. */
#include "split/split.h"
#include "kit/cuda/region/region.h"

static const char *const combinations[] = {"*, *?... -> *...", "f16, *?... -> f16...",
                                           "bf16, *?... -> bf16...", "qi8, *?... -> qi8..."};

TN_CUDA_MOVE_LAYER(split, "Split", combinations, tn_split_move);

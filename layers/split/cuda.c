/* SPDX-License-Identifier: Apache-2.0 */
/* Split on CUDA: a copy of a box for each part. */
#include "split/split.h"
#include "kit/cuda/region/region.h"

static const char *const combinations[] = {"*, *?... -> *...", "f16, *?... -> f16...",
                                           "bf16, *?... -> bf16...", "qi8, *?... -> qi8..."};

static tn_status split_run(tn_call *call) {
    return tn_split_move(call, tn_cuda_region_copy);
}

TN_CUDA_REGION_KERNEL(split, "Split", combinations, split_run);

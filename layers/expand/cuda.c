/* SPDX-License-Identifier: Apache-2.0 */
/* Expand on CUDA: a copy of a box with steps of zero. */
#include "expand/expand.h"
#include "kit/cuda/region/region.h"

static const char *const combinations[] = {"*, *?... -> *", "f16, *?... -> f16",
                                           "bf16, *?... -> bf16", "qi8, *?... -> qi8"};

static tn_status expand_run(tn_call *call) {
    return tn_expand_move(call, tn_cuda_region_copy);
}

TN_CUDA_REGION_KERNEL(expand, "Expand", combinations, expand_run);

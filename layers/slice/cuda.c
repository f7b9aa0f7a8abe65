/* SPDX-License-Identifier: Apache-2.0 */
/* Slice on CUDA: a copy of the box that is kept. */
#include "slice/slice.h"
#include "kit/cuda/region/region.h"

static const char *const combinations[] = {"*, *?... -> *", "f16, *?... -> f16",
                                           "bf16, *?... -> bf16", "qi8, *?... -> qi8"};

static tn_status slice_run(tn_call *call) {
    return tn_slice_move(call, tn_cuda_region_copy);
}

TN_CUDA_REGION_KERNEL(slice, "Slice", combinations, slice_run);

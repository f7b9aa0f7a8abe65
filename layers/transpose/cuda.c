/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose on CUDA: a copy of a box with its axes in another order. */
#include "kit/cuda/region/region.h"
#include <tenon/kit/infer.h>
#include "transpose/transpose.h"

static tn_status transpose_run(tn_call *call) {
    tn_region region;
    TN_TRY(tn_transpose_region(call, &region));
    return tn_cuda_region_copy(call, &region, call->outputs[0]->data, call->inputs[0]->data);
}

TN_CUDA_REGION_KERNEL(transpose, "Transpose", tn_cuda_region_combinations, transpose_run);

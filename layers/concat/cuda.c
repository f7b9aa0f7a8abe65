/* SPDX-License-Identifier: Apache-2.0 */
/* Concat on CUDA: a copy of a box for each input. */
#include "kit/operator/layer.h"
#include "concat/concat.h"
#include "kit/cuda/region/region.h"
#include "kit/math/byte_table.h"

static const char *const combinations[] = {
    "*... -> *",       "*:nhwc... -> *:nhwc",       "f16... -> f16", "f16:nhwc... -> f16:nhwc",
    "bf16... -> bf16", "bf16:nhwc... -> bf16:nhwc", "qi8... -> qi8", "qi8:nhwc... -> qi8:nhwc"};

static tn_status concat_accepts(tn_call *call) {
    for (uint32_t i = 1; i < call->input_count; i++)
        if (tn_byte_scale(call->inputs[i]) != tn_byte_scale(call->inputs[0]))
            return TN_ERROR_UNSUPPORTED;
    return tn_cuda_region_accepts(call);
}

static tn_status concat_run(tn_call *call) {
    return tn_concat_move(call, tn_cuda_region_copy);
}

static const tn_kernel concat_runs = {
    TN_KERNEL_BEGIN("cuda", "", "Concat", "runs", 1,
                    "Runs of elements, 16 bytes a thread where they are long enough."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    TN_COMBINATIONS(combinations),
    .accepts = concat_accepts,
    .run = concat_run,
};
TN_CUDA_LAYER(concat, &concat_runs);

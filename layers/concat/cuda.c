/* SPDX-License-Identifier: Apache-2.0 */
/* Concat on CUDA: copies of the inputs' boxes, several in one launch. */
#include "kit/operator/layer.h"
#include "concat/concat.h"
#include "kit/cuda/region/region.h"
#include "kit/math/byte_table.h"

enum { AT_ONCE = 16 };

static const char *const combinations[] = {
    "*:linear|nhwc:strided... -> *:linear|nhwc:strided",
    "f16:linear|nhwc:strided... -> f16:linear|nhwc:strided",
    "bf16:linear|nhwc:strided... -> bf16:linear|nhwc:strided",
    "qi8:linear|nhwc:strided... -> qi8:linear|nhwc:strided"};

static tn_status concat_accepts(tn_call *call) {
    for (uint32_t i = 1; i < call->input_count; i++)
        if (tn_byte_scale(call->inputs[i]) != tn_byte_scale(call->inputs[0]))
            return TN_ERROR_UNSUPPORTED;
    return tn_cuda_region_accepts(call);
}

static tn_status concat_run(tn_call *call) {
    tn_concat_iterator iterator = {0};
    while (iterator.input < call->input_count) {
        tn_region regions[AT_ONCE];
        void *to[AT_ONCE];
        const void *from[AT_ONCE];
        uint32_t count = 0;
        while (iterator.input < call->input_count && count < AT_ONCE) {
            TN_TRY(tn_concat_next(call, &iterator));
            regions[count] = iterator.region;
            to[count] = iterator.to;
            from[count] = iterator.from;
            if (tn_region_simplify(&regions[count])) count++;
        }
        TN_TRY(tn_cuda_region_copy_all(call, count, regions, to, from));
    }
    return TN_OK;
}

static const tn_kernel concat_runs = {
    TN_KERNEL_BEGIN("cuda", "", "Concat", "runs", 1,
                    "Runs of elements of all inputs at once, 16 bytes a thread where they are long "
                    "enough."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    TN_COMBINATIONS(combinations),
    .accepts = concat_accepts,
    .run = concat_run,
};
TN_CUDA_LAYER(concat, &concat_runs);

/* SPDX-License-Identifier: Apache-2.0 */
/* How a count is handed out; see select_job.h. */
#include "kit/cuda/any/select/select_job.h"
#include <tenon/plugin/counted.h>

static tn_tensor *output_of(const tn_call *call, uint32_t index) {
    return index < call->output_count ? call->outputs[index] : NULL;
}

bool tn_cuda_count_offered(const tn_call *call, uint32_t index, uint32_t axis) {
    tn_tensor *output = output_of(call, index);
    if (!output) return true;
    if (!output->counted) return false;
    output->counted->axis = axis;
    return true;
}

tn_status tn_cuda_count_hand_out(tn_call *call, const int64_t *found, const int32_t *axes) {
    int64_t count = 0;
    tn_cuda_count_job job = {.found = found};
    for (uint32_t i = 0; i < call->output_count && i < TN_CUDA_SELECT_OUTPUTS; i++) {
        const tn_tensor *output = output_of(call, i);
        if (!output || axes[i] < 0) continue;
        if (output->counted)
            job.to[i] = output->counted->value;
        else
            job.host = &count;
    }
    TN_TRY(tn_cuda_any_run(call, tn_cuda_count_launch, &job));
    for (uint32_t i = 0; job.host && i < call->output_count && i < TN_CUDA_SELECT_OUTPUTS; i++) {
        const tn_tensor *output = output_of(call, i);
        if (output && axes[i] >= 0 && !output->counted) output->shape[axes[i]] = count;
    }
    return TN_OK;
}

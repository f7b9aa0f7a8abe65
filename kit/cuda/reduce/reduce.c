/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of reduce.h; the launches are reduce.cu. */
#include "kit/cuda/reduce/reduce.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/reduce/reduce_job.h"
#include "kit/math/element.h"

const char *const tn_cuda_reduce_combinations[6] = {"f32 -> f32",   "f32, i64? -> f32",
                                                    "f16 -> f16",   "f16, i64? -> f16",
                                                    "bf16 -> bf16", "bf16, i64? -> bf16"};

tn_status tn_cuda_reduce_accepts(tn_call *call) {
    return tn_reduce_kernel_accepts(call);
}

tn_status tn_cuda_reduce_run(tn_call *call) {
    const tn_reduce_kernel_user *user = call->user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_cuda_reduce_job job = {.type = x->type,
                              .x = x->data,
                              .y = y->data,
                              .x_scale = 1,
                              .y_inverse = 1,
                              .kind = user->kind,
                              .finish = user->finish};
    if (tn_element_count(y) == 0) return TN_OK;
    if (!tn_reduce_kernel_lanes(call, &job.lanes))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the axes do not lie side by side");
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_reduce_launch(&job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a reduction");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* LogSoftmax on CUDA: its callbacks; the launches are kit/cuda/reduce/softmax.cu. */
#include "kit/operator/layer.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/cuda/reduce/softmax_job.h"
#include "log_softmax/log_softmax.h"

static tn_status lanes_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_lanes all;
    TN_TRY(tn_log_softmax_lanes(call, &all));
    if (tn_element_count(y) == 0) return TN_OK;
    const int before = tn_cuda_enter(call);
    const cudaError_t error =
        tn_cuda_softmax_launch(x->type, true, x->data, y->data, &all, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching log softmax");
}

static const char *const combinations[] = {"f32 -> f32", "f16 -> f16", "bf16 -> bf16"};

static const tn_kernel lanes = {
    TN_KERNEL_BEGIN(
        "cuda", "", "LogSoftmax", "lanes", 1,
        "A lane a warp, a block where it is long, a thread where lanes lie beside each other."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
    .run = lanes_run,
};
TN_CUDA_LAYER(log_softmax, &lanes);

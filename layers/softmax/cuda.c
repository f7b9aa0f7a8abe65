/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax on CUDA: their callbacks; the launches are kit/cuda/reduce/softmax.cu, of
 * doubles and of Hardmax kit/cuda/any/lane.cu. */
#include "kit/cuda/any/lane_job.h"
#include "kit/cuda/reduce/softmax_job.h"
#include "kit/operator/layer.h"
#include "softmax/softmax.h"
#include <tenon/kit/cuda/launch.h>

static tn_status run(tn_call *call, bool is_logarithm, const char *doing) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_lanes lanes;
    TN_TRY(tn_softmax_read(call, &lanes));
    if (tn_element_count(y) == 0) return TN_OK;
    const int before = tn_cuda_enter(call);
    const cudaError_t error =
        tn_cuda_softmax_launch(x->type, is_logarithm, x->data, y->data, &lanes, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, doing);
}

static tn_status softmax_run(tn_call *call) {
    return run(call, false, "launching softmax");
}

static tn_status log_softmax_run(tn_call *call) {
    return run(call, true, "launching log softmax");
}

static const char *const combinations[] = {"f32 -> f32", "f16 -> f16", "bf16 -> bf16"};

#define LANES(prefix, name)                                                                        \
    static const tn_kernel prefix##_lanes = {                                                      \
        TN_KERNEL_BEGIN("cuda", "", name, "lanes", 1,                                              \
                        "A lane a warp, a block where it is long, a thread where lanes lie "       \
                        "beside each other."),                                                     \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE,             \
        TN_COMBINATIONS(combinations),                                                             \
        .run = prefix##_run,                                                                       \
    }
LANES(softmax, "Softmax");
LANES(log_softmax, "LogSoftmax");

static tn_status any_run(tn_call *call) {
    tn_cuda_lane_job job = {.kind = *(const tn_cuda_lane_kind *)call->user};
    tn_lanes lanes;
    TN_TRY(tn_softmax_read(call, &lanes));
    return tn_cuda_lane_run_along(call, &lanes, &job);
}

static const char *const double_combinations[] = {"f64 -> f64"};
static const char *const hardmax_combinations[] = {"f32 -> f32", "f64 -> f64", "f16 -> f16",
                                                   "bf16 -> bf16"};
#define ANY(prefix, name, lane_kind, table)                                                        \
    static const tn_cuda_lane_kind prefix##_kind = lane_kind;                                      \
    TN_CUDA_ANY_KERNEL(prefix##_blocks, "", name, "blocks", "A lane a block.",                     \
                       TN_COMBINATIONS(table), .accepts = tn_cuda_any_accepts, .run = any_run,     \
                       .user = (void *)(uintptr_t)&prefix##_kind)
ANY(softmax, "Softmax", TN_CUDA_LANE_SOFTMAX, double_combinations);
ANY(log_softmax, "LogSoftmax", TN_CUDA_LANE_LOG_SOFTMAX, double_combinations);
ANY(hardmax, "Hardmax", TN_CUDA_LANE_HARDMAX, hardmax_combinations);

TN_CUDA_LAYER(softmax, &softmax_lanes, &log_softmax_lanes, &softmax_blocks, &log_softmax_blocks,
              &hardmax_blocks);

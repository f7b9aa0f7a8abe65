/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize of images on CUDA, by any of its modes but cropping: its callbacks. The launches are
 * cuda_resample.cu. Where weights stand in tables these are made anew in every run, by a kernel of
 * a few blocks: so a run depends on nothing that another shape may have changed, also in a captured
 * graph.
 */
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/iteration.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include "resize/cuda_job.h"

/* The plan with the image's axes last, whatever the format. */
static bool read_plan(tn_call *call, tn_resize_plan *out_plan) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    if (!tn_cuda_iteration_knows(x) || tn_element_count(x) > TN_CUDA_MOST_ELEMENTS ||
        tn_element_count(y) > TN_CUDA_MOST_ELEMENTS || x->format != y->format ||
        (x->format != TN_LINEAR && x->rank != 4) || tn_resize_read(call, out_plan) != TN_OK ||
        out_plan->rank < 2 || out_plan->coordinates == TN_RESIZE_TF_CROP_AND_RESIZE)
        return false;
    for (uint32_t i = 0; i + 2 < out_plan->rank; i++)
        if (!out_plan->axes[i].is_identity) return false;
    for (uint32_t i = out_plan->rank - 2; i < out_plan->rank; i++) {
        const tn_resize_axis *axis = &out_plan->axes[i];
        if (axis->taps < 1 || axis->taps > TN_RESIZE_CUDA_MOST_TAPS ||
            axis->output > INT32_MAX / 256 || axis->input > INT32_MAX / 256)
            return false;
    }
    return true;
}

static tn_status resample_accepts(tn_call *call) TN_NOEXCEPT;
static tn_status resample_accepts(tn_call *call) {
    tn_resize_plan plan;
    return read_plan(call, &plan) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status resample_reshape(tn_call *call) TN_NOEXCEPT;
static tn_status resample_reshape(tn_call *call) {
    tn_resize_plan plan;
    if (!read_plan(call, &plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this kernel does not resize to these sizes");
    call->workspace_bytes = plan.mode == TN_RESIZE_NEAREST ? 0 : tn_resize_cuda_table_bytes(&plan);
    return TN_OK;
}

static tn_status resample_run(tn_call *call) TN_NOEXCEPT;
static tn_status resample_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const bool is_linear = x->format == TN_LINEAR;
    tn_resize_cuda_job job = {.type = x->type,
                              .x = x->data,
                              .y = y->data,
                              .workspace = call->workspace,
                              .channels = is_linear ? 1 : x->shape[1]};
    if (tn_element_count(y) == 0) return TN_OK;
    if (!read_plan(call, &job.plan)) return resample_reshape(call);
    job.planes = is_linear ? tn_infer_product(x->shape, 0, x->rank - 2) : x->shape[0];
    job.x_pitch = job.y_pitch = job.channels;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = job.plan.mode == TN_RESIZE_NEAREST
                                  ? tn_resize_cuda_nearest_launch(&job, call->stream)
                                  : tn_resize_cuda_launch(&job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a resize");
}

static const char *const combinations[] = {"f32, *?... -> f32",   "f32:nhwc, *?... -> f32:nhwc",
                                           "f16, *?... -> f16",   "f16:nhwc, *?... -> f16:nhwc",
                                           "bf16, *?... -> bf16", "bf16:nhwc, *?... -> bf16:nhwc"};

static const tn_kernel resample = {
    TN_KERNEL_BEGIN("cuda", "", "Resize", "resample", 2,
                    "Rows resampled across once and joined down, four columns a thread."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    TN_COMBINATIONS(combinations),
    .accepts = resample_accepts,
    .reshape = resample_reshape,
    .run = resample_run,
};
extern const tn_kernel *const tn_resize_cuda_kernels[];
const tn_kernel *const tn_resize_cuda_kernels[] = {&resample, NULL};

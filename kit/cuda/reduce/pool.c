/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of pool.h; the launches are pool.cu and, of whole planes, reduce.cu. */
#include "kit/cuda/reduce/pool.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/reduce/pool_job.h"
#include "kit/cuda/reduce/reduce_job.h"
#include "kit/cuda/iteration.h"
#include "kit/math/byte_table.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/strided.h>

const char *const tn_cuda_pool_combinations[9] = {
    "f32 -> f32",   "f32:nhwc:strided -> f32:nhwc:strided",
    "f16 -> f16",   "f16:nhwc:strided -> f16:nhwc:strided",
    "bf16 -> bf16", "bf16:nhwc:strided -> bf16:nhwc:strided",
    "qi8 -> qi8",   "qi8:nhwc:strided -> qi8:nhwc:strided",
    "i8 -> i8"};
/* A pixel an image has its channels in the same order in both formats. */
const char *const tn_cuda_plane_combinations[15] = {
    "f32 -> f32",           "f32:nhwc -> f32:nhwc", "f32:nhwc -> f32",
    "f16 -> f16",           "f16:nhwc -> f16:nhwc", "f16:nhwc -> f16",
    "f16:nhwc -> f32",      "bf16 -> bf16",         "bf16:nhwc -> bf16:nhwc",
    "bf16:nhwc -> bf16",    "bf16:nhwc -> f32",     "qi8 -> qi8",
    "qi8:nhwc -> qi8:nhwc", "qi8:nhwc -> qi8",      "i8 -> i8"};

/* Equal scales do nothing to a largest element, and plain integers have none. */
static bool read_scales(const tn_call *call, float *out_x, float *out_inverse) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    *out_x = *out_inverse = 1;
    if (x->type != TN_I8 || (!x->quantization && !y->quantization)) return true;
    const float from = tn_byte_scale(x), to = tn_byte_scale(y);
    if (from == 0 || to == 0) return false;
    if (from == to) return true;
    *out_x = from;
    *out_inverse = 1 / to;
    return true;
}

static bool fits_int(int64_t number) {
    return number >= 0 && number < (int64_t)1 << 30;
}

static bool is_small(const tn_call *call) {
    return tn_cuda_iteration_knows(call->inputs[0]) && tn_cuda_iteration_knows(call->outputs[0]) &&
           tn_element_count(call->inputs[0]) <= TN_CUDA_MOST_ELEMENTS &&
           tn_element_count(call->outputs[0]) <= TN_CUDA_MOST_ELEMENTS;
}

static bool read_axes(const tn_window *window, tn_cuda_pool_job *job) {
    for (uint32_t i = 0; i < TN_CUDA_POOL_AXES; i++) {
        job->input[i] = job->output[i] = job->kernel[i] = job->stride[i] = job->dilation[i] = 1;
        job->pad_begin[i] = job->pad_end[i] = 0;
    }
    if (window->rank > TN_CUDA_POOL_AXES) return false;
    for (uint32_t i = 0; i < window->rank; i++) {
        const uint32_t at = TN_CUDA_POOL_AXES - window->rank + i;
        if (!fits_int(window->input[i]) || !fits_int(window->output[i]) ||
            !fits_int(window->stride[i]) || !fits_int(window->pad_begin[i]) ||
            !fits_int(window->pad_end[i]) || !fits_int(tn_window_extent(window, i)) ||
            !fits_int(window->output[i] * window->stride[i] + tn_window_extent(window, i)))
            return false;
        job->input[at] = (int32_t)window->input[i];
        job->output[at] = (int32_t)window->output[i];
        job->kernel[at] = (int32_t)window->kernel[i];
        job->stride[at] = (int32_t)window->stride[i];
        job->dilation[at] = (int32_t)window->dilation[i];
        job->pad_begin[at] = (int32_t)window->pad_begin[i];
        job->pad_end[at] = (int32_t)window->pad_end[i];
    }
    return true;
}

/* Elements from one pixel to the next, channels last. */
static int64_t pitch_of(const tn_tensor *tensor) {
    tn_strided rows;
    tn_strided_init(&rows, tensor);
    return rows.pitch == rows.row ? tensor->shape[1] : rows.pitch;
}

static bool read_pool(tn_call *call, tn_cuda_pool_job *job) {
    const tn_cuda_pool_user *user = call->user;
    const tn_tensor *x = call->inputs[0];
    tn_window window;
    if (call->output_count > 1 && call->outputs[1]) return false; /* indices */
    if (user->window(call, &window) != TN_OK || !is_small(call) || !read_axes(&window, job))
        return false;
    const bool is_linear = x->format == TN_LINEAR;
    const int64_t images = is_linear ? x->shape[0] * x->shape[1] : x->shape[0];
    if (!fits_int(images) || !fits_int(x->shape[1])) return false;
    job->type = x->type;
    job->batch = (int32_t)images;
    job->channels = is_linear ? 1 : (int32_t)x->shape[1];
    job->x_pitch = is_linear ? 1 : pitch_of(x);
    job->y_pitch = is_linear ? 1 : pitch_of(call->outputs[0]);
    job->is_mean = user->is_mean;
    job->counts_pads = user->counts_pads && user->counts_pads(call);
    return read_scales(call, &job->x_scale, &job->y_inverse);
}

tn_status tn_cuda_pool_accepts(tn_call *call) {
    tn_cuda_pool_job job;
    return read_pool(call, &job) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_pool_reshape(tn_call *call) {
    tn_cuda_pool_job job;
    if (read_pool(call, &job)) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "the window or the tensors are too large for this kernel");
}

tn_status tn_cuda_pool_run(tn_call *call) {
    tn_cuda_pool_job job;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_pool(call, &job)) return tn_cuda_pool_reshape(call);
    job.x = call->inputs[0]->data;
    job.y = call->outputs[0]->data;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_pool_launch(&job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a pooling kernel");
}

/* ----------------------------------------------------------------------------------------------
 * whole planes */

tn_status tn_cuda_plane_accepts(tn_call *call) {
    float x_scale, y_inverse;
    return is_small(call) && read_scales(call, &x_scale, &y_inverse) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_plane_run(tn_call *call) {
    const tn_cuda_pool_user *user = call->user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_cuda_reduce_job job = {.type = x->type,
                              .is_wider = y->type != x->type,
                              .x = x->data,
                              .y = y->data,
                              .kind = user->is_mean ? TN_REDUCE_SUM : TN_REDUCE_MAX,
                              .finish = user->is_mean ? TN_REDUCE_BY_COUNT : TN_REDUCE_AS_IT_IS,
                              .lanes = tn_lanes_along(x, 2, x->rank)};
    if (x->format != TN_LINEAR) /* the channels follow the pixels */
        job.lanes = (tn_lanes){x->shape[0], job.lanes.count, x->shape[1]};
    if (tn_element_count(y) == 0) return TN_OK;
    (void)read_scales(call, &job.x_scale, &job.y_inverse);
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_reduce_launch(&job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a kernel over whole planes");
}

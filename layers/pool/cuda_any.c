/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of any type on CUDA, MaxPool's indices among them, by kit/cuda/any/window/window.cu. */
#include "kit/cuda/any/window/window_job.h"
#include "kit/operator/layer.h"
#include "pool/cuda_any.h"
#include "pool/pool.h"

static tn_status run(tn_call *call, tn_cuda_window_pool_job *job) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[TN_POOL_Y];
    const tn_tensor *indices = tn_infer_output(call, TN_POOL_INDICES);
    if (tn_element_count(y) == 0) return TN_OK;
    job->x = x->data;
    job->y = y->data;
    job->indices = tn_infer_data(indices);
    job->type = x->type;
    job->count = (uint32_t)tn_element_count(y);
    job->plane = tn_infer_product(job->window.input, 0, job->window.rank);
    job->positions = tn_infer_product(job->window.output, 0, job->window.rank);
    return tn_cuda_any_run(call, tn_cuda_window_pool_launch, job);
}

static tn_status run_windows(tn_call *call, uint32_t kind) {
    const tn_pool_params *params = call->params;
    tn_cuda_window_pool_job job = {.kind = kind,
                                   .p = params->p,
                                   .counts_pads = params->count_include_pad,
                                   .is_column_major = params->storage_order == 1};
    TN_TRY(tn_pool_window(call, &job.window));
    return run(call, &job);
}
static tn_status max_pool_run(tn_call *call) {
    return run_windows(call, TN_CUDA_POOL_MAX);
}
static tn_status average_pool_run(tn_call *call) {
    return run_windows(call, TN_CUDA_POOL_MEAN);
}
static tn_status lp_pool_run(tn_call *call) {
    return run_windows(call, TN_CUDA_POOL_LENGTH);
}

/* A window that is the whole plane. */
static tn_status run_planes(tn_call *call, uint32_t kind, double p) {
    const tn_tensor *x = call->inputs[0];
    tn_cuda_window_pool_job job = {
        .kind = kind, .p = p, .is_whole = true, .window = {.rank = x->rank - 2}};
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        job.window.input[i] = job.window.kernel[i] = x->shape[2 + i];
        job.window.output[i] = job.window.stride[i] = job.window.dilation[i] = 1;
    }
    return run(call, &job);
}
static tn_status global_max_pool_run(tn_call *call) {
    return run_planes(call, TN_CUDA_POOL_MAX, 0);
}
static tn_status global_average_pool_run(tn_call *call) {
    return run_planes(call, TN_CUDA_POOL_MEAN, 0);
}
static tn_status global_lp_pool_run(tn_call *call) {
    const tn_global_lp_pool_params *params = call->params;
    return run_planes(call, TN_CUDA_POOL_LENGTH, params->p);
}

#define ELEMENTS(prefix, name) TN_CUDA_ANY_FALLBACK(tn_##prefix##_cuda_any, name, prefix##_run)
ELEMENTS(max_pool, "MaxPool");
ELEMENTS(average_pool, "AveragePool");
ELEMENTS(lp_pool, "LpPool");
ELEMENTS(global_max_pool, "GlobalMaxPool");
ELEMENTS(global_average_pool, "GlobalAveragePool");
ELEMENTS(global_lp_pool, "GlobalLpPool");

/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization of floats by vectors (lanes.h), as kernels: one a processor level. Scale and
 * bias have the extents of a lane; statistics are not given out. */
#include <tenon/kit/parallel.h>
#include "kit/operator/layer.h"
#include "layer_normalization/lanes.h"
#include "layer_normalization/layer_normalization.h"

typedef struct lanes_job {
    tn_layer_normalization_lane function;
    int64_t count; /* elements of a lane */
    float epsilon;
    const float *x, *scale, *bias;
    float *y;
} lanes_job;

/* Whether the tensor has an element for each of a lane, and no axes before them. */
static bool is_lane(const tn_tensor *tensor, const tn_tensor *x, uint32_t axis) {
    if (!tensor) return true;
    if (tensor->rank != x->rank - axis) return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] != x->shape[axis + i]) return false;
    return true;
}

static tn_status lanes_accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[TN_LAYER_NORMALIZATION_X];
    uint32_t axis = 0;
    TN_TRY(tn_layer_normalization_read(call, &axis));
    if (!is_lane(call->inputs[TN_LAYER_NORMALIZATION_SCALE], x, axis) ||
        !is_lane(tn_infer_input(call, TN_LAYER_NORMALIZATION_B), x, axis) ||
        tn_infer_output(call, 1) || tn_infer_output(call, 2))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

/* An item is a lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    (void)thread;
    for (int64_t i = begin * job->count; i < end * job->count; i += job->count)
        job->function(job->count, job->epsilon, job->x + i, job->scale, job->bias, job->y + i);
    return TN_OK;
}

static tn_status lanes_run(tn_call *call) {
    enum { GRAIN = 8192 };
    const tn_layer_normalization_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *b = tn_infer_input(call, TN_LAYER_NORMALIZATION_B);
    uint32_t axis = 0;
    TN_TRY(tn_layer_normalization_read(call, &axis));
    if (x->bytes == 0) return TN_OK;
    lanes_job job = {.function = (tn_layer_normalization_lane)(uintptr_t)call->user,
                     .count = tn_infer_product(x->shape, axis, x->rank),
                     .epsilon = params->epsilon,
                     .x = x->data,
                     .scale = call->inputs[TN_LAYER_NORMALIZATION_SCALE]->data,
                     .bias = b ? b->data : NULL,
                     .y = call->outputs[0]->data};
    return call->host->parallel_for(call, tn_infer_product(x->shape, 0, axis),
                                    tn_parallel_grain(GRAIN, job.count), do_lanes, &job);
}

static const char *const combinations[] = {"f32, f32, f32? -> f32"};
TN_LEVEL_KERNELS(lanes, tn_layer_normalization, "LayerNormalization", "lanes",
                 "Lanes by vectors, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                 TN_COMBINATIONS(combinations), .accepts = lanes_accepts, .run = lanes_run);

const tn_kernel *const tn_layer_normalization_kernels[3] = {TN_LEVEL_LIST(lanes)};

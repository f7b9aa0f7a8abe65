/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a call's tensors as jobs; see lane_job.h. */
#include "kit/cuda/any/lane_job.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/region.h>

/* The axes whose bits in the mask are as `is_in`, with x's strides. */
static bool take_axes(const tn_tensor *x, uint32_t mask, bool is_in, tn_cuda_box *box) {
    int64_t strides[TN_MAX_RANK], shape[TN_MAX_RANK], steps[TN_MAX_RANK];
    uint32_t rank = 0;
    tn_region_strides(x->rank, x->shape, strides);
    for (uint32_t i = 0; i < x->rank; i++) {
        if ((mask >> i & 1) != is_in) continue;
        steps[rank] = strides[i];
        shape[rank++] = x->shape[i];
    }
    /* axes that are traversed as one */
    for (uint32_t i = rank; i-- > 1;) {
        if (steps[i - 1] != steps[i] * shape[i]) continue;
        shape[i - 1] *= shape[i];
        steps[i - 1] = steps[i];
        for (uint32_t k = i; k + 1 < rank; k++)
            shape[k] = shape[k + 1], steps[k] = steps[k + 1];
        rank--;
    }
    const bool has_elements = tn_cuda_box_init(box, rank, shape);
    for (uint32_t i = 0; i < rank; i++)
        box->steps[0][i] = steps[i];
    return has_elements;
}

static void begin(const tn_call *call, tn_cuda_lane_job *job) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    job->x = x->data;
    job->y = y->data;
    job->type = x->type;
    job->y_type = y->type;
}

tn_status tn_cuda_lane_run(tn_call *call, uint32_t mask, tn_cuda_lane_kind kind) {
    const tn_tensor *x = call->inputs[0];
    tn_cuda_lane_job job = {.kind = kind};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    begin(call, &job);
    job.is_empty = !take_axes(x, mask, true, &job.lane);
    if (!take_axes(x, mask, false, &job.lanes)) return TN_OK;
    return tn_cuda_any_run(call, tn_cuda_lane_launch, &job);
}

tn_status tn_cuda_lane_run_along(tn_call *call, const tn_lanes *along, tn_cuda_lane_job *job) {
    const int64_t lanes[] = {along->outer, along->inner};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    begin(call, job);
    job->is_empty = !tn_cuda_box_init(&job->lane, 1, &along->count);
    job->lane.steps[0][0] = along->inner;
    if (!tn_cuda_box_init(&job->lanes, 2, lanes)) return TN_OK;
    job->lanes.steps[0][0] = along->count * along->inner;
    job->lanes.steps[0][1] = 1;
    return tn_cuda_any_run(call, tn_cuda_lane_launch, job);
}

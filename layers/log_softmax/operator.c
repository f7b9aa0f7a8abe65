/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LogSoftmax: x - max - log(sum(exp(x - max))) along one axis; before opset 13 over all axes from
 * `axis` on together.
 */
#include "log_softmax/log_softmax.h"
#include "kit/math/element.h"
#include <tenon/kit/parallel.h>
#include <tenon/kit/lanes.h>
#include "kit/operator/layer.h"

#include <math.h>

typedef struct log_softmax_params {
    uint64_t present;
    int64_t axis;
} log_softmax_params;

static const tn_field log_softmax_1_fields[] = {
    TN_FIELD(log_softmax_params, axis, TN_FIELD_I64, TN_OPTIONAL, "1",
             "first of the axes that are taken together; negative: from the end"),
};
static const tn_field log_softmax_13_fields[] = {
    TN_FIELD(log_softmax_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1",
             "the axis; negative: from the end"),
};

tn_status tn_log_softmax_lanes(tn_call *call, tn_lanes *out_lanes) {
    const log_softmax_params *params = call->params;
    const bool is_one_axis = call->op->since_version >= 13;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    uint32_t axis = x->rank;
    if (is_one_axis || params->axis != (int64_t)x->rank)
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    *out_lanes = tn_lanes_along(x, axis, is_one_axis ? axis + 1 : x->rank);
    return TN_OK;
}

static tn_status log_softmax_infer(tn_call *call) {
    tn_lanes lanes;
    TN_TRY(tn_log_softmax_lanes(call, &lanes));
    return tn_infer_copy_shape(call, 0, 0);
}

typedef struct lane_job {
    const tn_tensor *x, *y;
    tn_lanes lanes;
} lane_job;

static void compute_lane(const lane_job *job, int64_t first) {
    const tn_tensor *x = job->x, *y = job->y;
    const int64_t step = job->lanes.inner, end = first + job->lanes.count * step;
    double largest = -(double)INFINITY, sum = 0;
    for (int64_t i = first; i < end; i += step)
        largest = fmax(largest, tn_element_load_f64(x->data, x->type, i));
    for (int64_t i = first; i < end; i += step)
        sum += exp(tn_element_load_f64(x->data, x->type, i) - largest);
    const double offset = largest + log(sum);
    for (int64_t i = first; i < end; i += step)
        tn_element_store_f64(y->data, y->type, i,
                             tn_element_load_f64(x->data, x->type, i) - offset);
}

/* An item is a lane. */
static tn_status compute_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lane_job *job = user;
    (void)thread;
    for (int64_t lane = begin; lane < end; lane++)
        compute_lane(job, tn_lanes_first(&job->lanes, lane));
    return TN_OK;
}

static tn_status log_softmax_reference(tn_call *call) {
    lane_job job = {.x = call->inputs[0], .y = call->outputs[0]};
    TN_TRY(tn_log_softmax_lanes(call, &job.lanes));
    if (tn_element_count(job.y) == 0) return TN_OK;
    return compute_lanes(&job, 0, job.lanes.outer * job.lanes.inner, 0);
}

static tn_status log_softmax_run(tn_call *call) {
    enum { GRAIN = 4096 };
    lane_job job = {.x = call->inputs[0], .y = call->outputs[0]};
    TN_TRY(tn_log_softmax_lanes(call, &job.lanes));
    if (tn_element_count(job.y) == 0) return TN_OK;
    return call->host->parallel_for(call, job.lanes.outer * job.lanes.inner,
                                    tn_parallel_grain(GRAIN, job.lanes.count), compute_lanes, &job);
}

static const tn_port log_softmax_inputs[] = {TN_PORT("input", "T:float", 0, "any tensor")};
static const tn_port log_softmax_outputs[] = {
    TN_PORT("output", "T", 0, "logarithms of numbers that sum to one along each lane")};
static const char *const log_softmax_1_cases[] = {
    "| input=f32[2,3,4]",
    "axis=0 | input=f32[2,3,4]",
    "axis=2 | input=f64[2,3,4]",
    "axis=-1 | input=f32[3,10]",
};
static const char *const log_softmax_13_cases[] = {
    "| input=f32[1]",
    "| input=f32[3,10]",
    "axis=1 | input=f32[2,3,5,7]",
    "axis=0 | input=f64[17]",
    "axis=-2 | input=f16[2,9,3]",
    "| input=bf16[2,33]",
    "| input=f32[2,3]{0,1,2,10000,10001,10002}",
    "| input=f32[0,5]",
    "| input=f32[64,1000]",
};

#define LOG_SOFTMAX(version, text)                                                                 \
    TN_OPERATOR_VERSION(log_softmax, "", "LogSoftmax", version, text,                              \
                        TN_FIELDS(log_softmax_params, log_softmax_##version##_fields),             \
                        TN_INPUTS(log_softmax_inputs), TN_OUTPUTS(log_softmax_outputs),            \
                        TN_CASES(log_softmax_##version##_cases))
LOG_SOFTMAX(1, "Logarithms of exponentials that sum to one over the trailing axes.");
LOG_SOFTMAX(13, "Logarithms of exponentials that sum to one along an axis.");

static const tn_kernel log_softmax_lanes = {
    TN_KERNEL_BEGIN("cpu", "", "LogSoftmax", "lanes", 1,
                    "Lanes on all threads, in double precision."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    .run = log_softmax_run,
};

TN_LAYER(log_softmax, TN_OPERATORS(&log_softmax_1, &log_softmax_13),
         TN_KERNELS(&log_softmax_lanes));

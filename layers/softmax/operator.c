/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax, exp(x - max) / sum(exp(x - max)) along one axis, its logarithm LogSoftmax, and Hardmax,
 * 1 at the first largest element and 0 elsewhere; before opset 13 over all axes from `axis` on
 * together.
 */
#include <tenon/kit/known_steps.h>
#include "kit/operator/axis.h"
#include "kit/operator/layer.h"
#include "softmax/softmax.h"

#include <math.h>

tn_status tn_softmax_read(tn_call *call, tn_lanes *out_lanes) {
    const tn_axis_params *params = call->params;
    const bool is_one_axis = call->op->since_version >= 13;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    uint32_t axis = x->rank;
    if (is_one_axis || params->axis != (int64_t)x->rank) TN_TRY(tn_axis_read(call, x->rank, &axis));
    *out_lanes = tn_lanes_along(x, axis, is_one_axis ? axis + 1 : x->rank);
    return TN_OK;
}

static tn_status softmax_infer(tn_call *call) {
    tn_lanes lanes;
    TN_TRY(tn_softmax_read(call, &lanes));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status softmax_facet(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    uint32_t axis = 0;
    (void)input;
    if (!tn_known_is(name, TN_FACET_SOFTMAX)) return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    TN_TRY(tn_axis_read(call, call->inputs[0]->rank, &axis));
    if (axis + 1 != call->inputs[0]->rank) return TN_ERROR_UNSUPPORTED;
    return tn_known_axis(name, TN_FACET_SOFTMAX, (int32_t)axis, out_facet);
}

/* ----------------------------------------------------------------------------------------------
 * references */

typedef struct lane_job {
    const tn_tensor *x, *y;
    tn_lanes lanes;
} lane_job;
typedef void (*lane_function)(const lane_job *job, int64_t first);

static void exponential_lane(const lane_job *job, int64_t first, bool is_logarithm) {
    const tn_tensor *x = job->x, *y = job->y;
    const int64_t step = job->lanes.inner, end = first + job->lanes.count * step;
    double largest = -(double)INFINITY, sum = 0;
    for (int64_t i = first; i < end; i += step)
        largest = fmax(largest, tn_element_f64(x, i));
    for (int64_t i = first; i < end; i += step)
        sum += exp(tn_element_f64(x, i) - largest);
    const double offset = largest + log(sum);
    for (int64_t i = first; i < end; i += step) {
        const double value = tn_element_f64(x, i);
        tn_element_set_f64(y, i, is_logarithm ? value - offset : exp(value - largest) / sum);
    }
}

static void softmax_lane(const lane_job *job, int64_t first) {
    exponential_lane(job, first, false);
}
static void log_softmax_lane(const lane_job *job, int64_t first) {
    exponential_lane(job, first, true);
}

/* NaN counts as larger than all numbers. */
static void hardmax_lane(const lane_job *job, int64_t first) {
    const int64_t step = job->lanes.inner, end = first + job->lanes.count * step;
    int64_t best = first;
    double largest = tn_element_f64(job->x, first);
    for (int64_t i = first + step; i < end && !isnan(largest); i += step) {
        const double value = tn_element_f64(job->x, i);
        if (value <= largest) continue;
        best = i;
        largest = value;
    }
    for (int64_t i = first; i < end; i += step)
        tn_element_set_f64(job->y, i, i == best);
}

static tn_status compute(tn_call *call, lane_function function) {
    lane_job job = {.x = call->inputs[0], .y = call->outputs[0]};
    TN_TRY(tn_softmax_read(call, &job.lanes));
    if (tn_element_count(job.y) == 0) return TN_OK;
    for (int64_t lane = 0; lane < job.lanes.outer * job.lanes.inner; lane++)
        function(&job, tn_lanes_first(&job.lanes, lane));
    return TN_OK;
}

static tn_status softmax_reference(tn_call *call) {
    return compute(call, softmax_lane);
}

static tn_status log_softmax_reference(tn_call *call) {
    return compute(call, log_softmax_lane);
}

static tn_status hardmax_reference(tn_call *call) {
    return compute(call, hardmax_lane);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port inputs[] = {TN_PORT("input", "T:float", 0, "any tensor")};
static const tn_port softmax_outputs[] = {
    TN_PORT("output", "T", 0, "numbers of 0..1 that sum to one along each lane")};
static const tn_port log_softmax_outputs[] = {
    TN_PORT("output", "T", 0, "logarithms of numbers that sum to one along each lane")};
static const tn_port hardmax_outputs[] = {
    TN_PORT("output", "T", 0, "1 at the first largest element of each lane, 0 elsewhere")};
static const char *const cases_1[] = {
    "| input=f32[2,3,4]",
    "axis=0 | input=f32[2,3,4]",
    "axis=2 | input=f64[2,3,4]",
    "axis=-1 | input=f32[3,10]",
};
#define CASES_13                                                                                   \
    "| input=f32[1]", "| input=f32[3,10]", "axis=1 | input=f32[2,3,5,7]",                          \
        "axis=0 | input=f64[17]", "axis=-2 | input=f16[2,9,3]", "| input=bf16[2,33]"
static const char *const softmax_cases_13[] = {
    CASES_13,
    "axis=1 | input=f32[1,21,5,33]",
    "| input=f32[0,5]",
    "| input=f32[64,1000]",
    "| input=f32[5,257]",
    "axis=0 | input=f32[300,18]",
    "axis=1 | input=f64[2,37,11]",
    "| input=f64[3]{-inf,2000,1}",
    "| input=f16[7,300]",
    "axis=0 | input=bf16[50,19]",
};
static const char *const log_softmax_cases_13[] = {
    CASES_13,
    "| input=f32[2,3]{0,1,2,10000,10001,10002}",
    "| input=f32[0,5]",
    "| input=f32[64,1000]",
    "axis=1 | input=f64[2,37,11]",
    "| input=f64[5,300]",
    "| input=f16[7,300]",
};
static const char *const hardmax_cases_13[] = {
    CASES_13,
    "| input=f32[2,4]{3,0,1,2,2,5,5,1} | output=f32[2,4]{1,0,0,0,0,1,0,0}",
    "| input=f64[4]{1,nan,7,nan} | output=f64[4]{0,1,0,0}",
    "| input=f32[2]{-inf,-inf} | output=f32[2]{1,0}",
    "| input=f32[0,5]",
    "axis=1 | input=f32[2,0,3]",
    "| input=f32[64,1000]",
    "| input=f64[3,2600]",
    "axis=1 | input=f32[2,9,700]",
    "axis=0 | input=bf16[50,19]",
};

#define SOFTMAX(prefix, name, version, axis_default, axis_words, words, case_table, of_facet)      \
    static const tn_field prefix##_##version##_fields[] = {                                        \
        TN_AXIS_FIELD(TN_OPTIONAL, axis_default, axis_words)};                                     \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN("", name, version, words),                                               \
        TN_FIELDS(tn_axis_params, prefix##_##version##_fields),                                    \
        TN_INPUTS(inputs),                                                                         \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = softmax_infer,                                                                    \
        .reference = prefix##_reference,                                                           \
        .facet = of_facet,                                                                         \
        TN_CASES(case_table),                                                                      \
    }
SOFTMAX(softmax, "Softmax", 1, "1",
        "first of the axes that sum to one together; negative: from the end",
        "Exponentials that sum to one over the trailing axes.", cases_1, softmax_facet);
SOFTMAX(softmax, "Softmax", 13, "-1", "axis that sums to one; negative: from the end",
        "Exponentials that sum to one along an axis.", softmax_cases_13, softmax_facet);
SOFTMAX(log_softmax, "LogSoftmax", 1, "1",
        "first of the axes that are taken together; negative: from the end",
        "Logarithms of exponentials that sum to one over the trailing axes.", cases_1, NULL);
SOFTMAX(log_softmax, "LogSoftmax", 13, "-1", "the axis; negative: from the end",
        "Logarithms of exponentials that sum to one along an axis.", log_softmax_cases_13, NULL);
SOFTMAX(hardmax, "Hardmax", 1, "1",
        "first of the axes that are taken together; negative: from the end",
        "The largest element over the trailing axes as a one among zeros.", cases_1, NULL);
SOFTMAX(hardmax, "Hardmax", 13, "-1", "the axis; negative: from the end",
        "The largest element along an axis as a one among zeros.", hardmax_cases_13, NULL);

TN_LAYER(softmax,
         TN_OPERATORS(&softmax_1, &softmax_13, &log_softmax_1, &log_softmax_13, &hardmax_1,
                      &hardmax_13),
         tn_softmax_kernels);

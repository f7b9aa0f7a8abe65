/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisations without statistics of their own: by mean and variance of channels of an image
 * (groups.c) or along axes (MeanVarianceNormalization), and by a length along an axis
 * (LpNormalization).
 */
#include "kit/operator/layer.h"
#include "kit/reduce/reduce.h"
#include "normalize/fields.h"
#include "normalize/groups.h"
#include "normalize/lengths.h"
#include "normalize/row_sums.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * along axes */

/* MeanVarianceNormalization: y = (x - mean) / (deviation + 1e-9), the deviation of the whole
 * population. */
static tn_status read_mean_variance_axes(tn_call *call, uint32_t *out_mask) {
    const tn_mean_variance_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    return tn_infer_axes(call, "field 'axes'", params->axes.count, params->axes.items,
                         call->inputs[0]->rank, out_mask);
}

static tn_status mean_variance_infer(tn_call *call) {
    uint32_t mask = 0;
    TN_TRY(read_mean_variance_axes(call, &mask));
    return tn_infer_copy_shape(call, 0, 0);
}

static void normalize_by_deviation(const tn_call *call, tn_reduce_lane *lane, int64_t number,
                                   const void *user) {
    double sum = 0, squares = 0;
    (void)number, (void)user;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += tn_element_f64(lane->x, lane->at);
    const double mean = sum / (double)lane->count;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double apart = tn_element_f64(lane->x, lane->at) - mean;
        squares += apart * apart;
    }
    const double deviation = sqrt(squares / (double)lane->count) + 1e-9;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        tn_element_set_f64(call->outputs[0], lane->at,
                           (tn_element_f64(lane->x, lane->at) - mean) / deviation);
}

static tn_status mean_variance(tn_call *call, bool is_parallel) {
    uint32_t mask = 0;
    TN_TRY(read_mean_variance_axes(call, &mask));
    if (tn_element_count(call->inputs[0]) == 0) return TN_OK;
    return tn_reduce_do(call, mask, is_parallel, normalize_by_deviation, NULL);
}

TN_SERIAL_AND_PARALLEL(mean_variance, mean_variance)

/* 32-bit floats where the last axis is normalised: contiguous rows of the axes at the end, in lanes
 * of the other ones. */
typedef struct row_axes {
    const tn_normalize_level *level;
    uint32_t outer_mask;
    int64_t inner; /* elements of a row */
} row_axes;

static void normalize_rows(const tn_call *call, tn_reduce_lane *lane, int64_t number,
                           const void *user) {
    const row_axes *axes = user;
    const tn_rows_level *rows = axes->level->rows;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    double sum = 0, squares = 0;
    tn_reduce_lane outer;
    (void)number;
    tn_reduce_lane_init(lane->x, axes->outer_mask, &outer);
    outer.begin = lane->begin;
    for (bool more = tn_reduce_first(&outer); more; more = tn_reduce_next(&outer))
        sum += tn_normalize_sum(axes->level, x + outer.at, axes->inner, NULL);
    const float mean = (float)(sum / (double)lane->count);
    for (bool more = tn_reduce_first(&outer); more; more = tn_reduce_next(&outer))
        squares += tn_normalize_sum(axes->level, x + outer.at, axes->inner, &mean);
    const float factor = (float)(1 / (sqrt(squares / (double)lane->count) + 1e-9));
    for (bool more = tn_reduce_first(&outer); more; more = tn_reduce_next(&outer)) {
        rows->combines[TN_COMBINE_SUB](axes->inner, x + outer.at, 1, &mean, 0, y + outer.at);
        rows->combines[TN_COMBINE_MUL](axes->inner, y + outer.at, 1, &factor, 0, y + outer.at);
    }
}

static tn_status mean_variance_rows_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    row_axes axes = {.level = call->user, .inner = 1};
    uint32_t mask = 0;
    TN_TRY(read_mean_variance_axes(call, &mask));
    if (tn_element_count(x) == 0) return TN_OK;
    axes.outer_mask = mask;
    for (uint32_t i = x->rank; i-- > 0 && mask >> i & 1;) {
        axes.inner *= x->shape[i];
        axes.outer_mask &= ~(1u << i);
    }
    if (axes.inner == 1) return mean_variance_run(call);
    return tn_reduce_do(call, mask, true, normalize_rows, &axes);
}

static const tn_port mean_variance_inputs[] = {TN_PORT("X", "T:float", 0, "any tensor")};
static const tn_port mean_variance_outputs[] = {TN_PORT("Y", "T", 0, "the tensor normalised")};
static const char *const mean_variance_cases[] = {
    "| X=f32[2,3,5,7]",     "axes=[1] | X=f32[2,9,3]",     "axes=[-1,0] | X=f64[3,4,5]",
    "axes=[0] | X=f16[33]", "axes=[0,1] | X=f32[4,0]",     "axes=[2,3] | X=f32[1,16,28,28]",
    "| X=f32[3,5,40,41]",   "axes=[-1,0] | X=f32[3,4,50]",
};

TN_OPERATOR(mean_variance, "", "MeanVarianceNormalization", 9,
            "Normalises a tensor to mean zero and deviation one along axes.",
            TN_FIELDS(tn_mean_variance_params, mean_variance_fields));

/* LpNormalization: x divided by the sum of absolute values (p = 1) or the root of the sum of
 * squares (p = 2) along an axis. Zero stays zero. */
tn_status tn_lp_normalization_axis(tn_call *call, uint32_t *out_axis) {
    const tn_lp_normalization_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    return tn_infer_axis(call, "field 'axis'", params->axis, call->inputs[0]->rank, out_axis);
}

static tn_status lp_normalization_infer(tn_call *call) {
    uint32_t axis = 0;
    TN_TRY(tn_lp_normalization_axis(call, &axis));
    return tn_infer_copy_shape(call, 0, 0);
}

static void normalize_by_length(const tn_call *call, tn_reduce_lane *lane, int64_t number,
                                const void *user) {
    const tn_lp_normalization_params *params = call->params;
    double sum = 0;
    (void)number, (void)user;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double value = tn_element_f64(lane->x, lane->at);
        sum += params->p == 1 ? fabs(value) : value * value;
    }
    const double length = params->p == 1 ? sum : sqrt(sum);
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        tn_element_set_f64(call->outputs[0], lane->at,
                           length == 0 ? 0 : tn_element_f64(lane->x, lane->at) / length);
}

static tn_status lp_normalization(tn_call *call, bool is_parallel) {
    uint32_t axis = 0;
    TN_TRY(tn_lp_normalization_axis(call, &axis));
    if (tn_element_count(call->inputs[0]) == 0) return TN_OK;
    return tn_reduce_do(call, 1u << axis, is_parallel, normalize_by_length, NULL);
}

TN_SERIAL_AND_PARALLEL(lp_normalization, lp_normalization)

static const tn_port lp_normalization_inputs[] = {TN_PORT("input", "T:float", 0, "any tensor")};
static const tn_port lp_normalization_outputs[] = {
    TN_PORT("output", "T", 0, "lanes of length one")};
static const char *const lp_normalization_cases[] = {
    "| input=f32[2,3,4]",
    "p=1 axis=0 | input=f32[2,3,4]",
    "axis=1 | input=f64[2,5]",
    "axis=-2 | input=f16[3,9,2]",
    "| input=f32[2,3]{0,0,0,1,-2,2}",
    "p=1 | input=f32[0,3]",
    "axis=1 | input=f32[2,33,70]",
    "| input=f32[2,3]{3e-30,0,4e-30,3e30,-4e30,0}",
    "| input=f32[9,300]",
};

TN_OPERATOR(lp_normalization, "", "LpNormalization", 1,
            "Normalises a tensor to length one along an axis.",
            TN_FIELDS(tn_lp_normalization_params, lp_normalization_fields));

#define LANES_KERNEL(prefix, operator_name)                                                        \
    TN_CPU_KERNEL_OF(prefix##_lanes, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, "",             \
                     operator_name, "lanes", "Lanes on all threads, in double precision.",         \
                     .run = prefix##_run)
LANES_KERNEL(mean_variance, "MeanVarianceNormalization");
LANES_KERNEL(lp_normalization, "LpNormalization");
static const char *const mean_variance_combinations[] = {"f32 -> f32"};
TN_LEVEL_KERNELS(mean_variance_rows, tn_normalize, "MeanVarianceNormalization", "rows",
                 "Rows of floats by vectors, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                 TN_COMBINATIONS(mean_variance_combinations), .run = mean_variance_rows_run);

TN_LAYER(normalize,
         TN_OPERATORS(&tn_instance_normalization_6, &tn_group_normalization_18,
                      &tn_group_normalization_21, &mean_variance_9, &lp_normalization_1),
         TN_KERNELS(TN_LEVEL_LIST(tn_instance_rows), TN_LEVEL_LIST(tn_group_rows),
                    &tn_instance_normalization_planes, &tn_group_normalization_groups,
                    TN_LEVEL_LIST(mean_variance_rows), &mean_variance_lanes,
                    TN_LEVEL_LIST(tn_lp_normalization), &lp_normalization_lanes));

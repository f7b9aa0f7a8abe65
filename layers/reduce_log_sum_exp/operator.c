/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ReduceLogSumExp: the logarithm of the sum of exponentials along axes; the largest element is
 * taken out first, so that nothing overflows; before opset 18 the axes are a field.
 */
#include "kit/math/element.h"
#include "kit/reduce/reduce_operator.h"

#include <math.h>

static double largest_of(tn_reduce_lane *lane) {
    double largest = -(double)INFINITY;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        largest = fmax(largest, tn_element_load_f64(lane->x->data, lane->x->type, lane->at));
    return largest;
}

static double exponentials_real(tn_reduce_lane *lane) {
    const double largest = largest_of(lane);
    double sum = 0;
    if (isinf(largest)) return largest;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += exp(tn_element_load_f64(lane->x->data, lane->x->type, lane->at) - largest);
    return largest + log(sum);
}

/* Of integers: what is behind the point is dropped. */
static int64_t exponentials_whole(tn_reduce_lane *lane) {
    return tn_element_round_i64(trunc(exponentials_real(lane)), lane->x->type);
}

static const tn_reduce_function reduce_log_sum_exp_function = {exponentials_real,
                                                               exponentials_whole};

static const char *const reduce_log_sum_exp_1_cases[] = {
    "| data=f32[2,3]",
    "axes=[1] | data=f32[2,3]",
    "axes=[0,-1] keepdims=0 | data=f32[2,3]",
    "axes=[0] keepdims=0 | data=i32[2,3]{1,2,3,4,5,6}",
    "axes=[0] | data=f64[3,2]{1,2,3,4,5,6}",
    "axes=[-1] | data=f16[2,2]{1,2,3,4}",
    "| data=f32[]{0.5}",
};
static const char *const reduce_log_sum_exp_18_cases[] = {
    "| data=f32[2,3]",
    "noop_with_empty_axes=1 | data=f32[2,3]",
    "| data=f32[2,3] axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3] axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[2,3]{1,2,3,4,5,6} axes=i64[1]{0}",
    "| data=bf16[4]{1,2,3,4} axes=i64[1]{0}",
    "| data=i64[2]{7,9}",
    "| data=f32[2,3,5,7] axes=i64[2]{1,3}",
    "| data=f32[64,512] axes=i64[1]{-1}",
};

TN_REDUCE_OPERATORS(reduce_log_sum_exp, "ReduceLogSumExp", "number", 18,
                    reduce_log_sum_exp_function, "Logarithms of sums of exponentials along axes.",
                    "the logarithms; of integers, rounded towards zero", reduce_log_sum_exp_1_cases,
                    reduce_log_sum_exp_18_cases);
TN_LAYER_WITHOUT_KERNELS(reduce_log_sum_exp, reduce_log_sum_exp_operators);

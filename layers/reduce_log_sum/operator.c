/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceLogSum: the logarithm of the sum along axes; before opset 18 the axes are a field. */
#include "kit/math/element.h"
#include "kit/reduce/reduce_operator.h"

#include <math.h>

static double logarithm_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
    return log(sum);
}

/* Of integers: what is behind the point is dropped. */
static int64_t logarithm_whole(tn_reduce_lane *lane) {
    return tn_element_round_i64(trunc(logarithm_real(lane)), lane->x->type);
}

static const tn_reduce_function reduce_log_sum_function = {logarithm_real, logarithm_whole};

static const char *const reduce_log_sum_1_cases[] = {
    "| data=f32[2,3]{1,2,3,4,5,6}",
    "axes=[1] | data=f32[2,3]{1,2,3,4,5,6}",
    "axes=[0,-1] keepdims=0 | data=f32[2,3]{1,2,3,4,5,6}",
    "axes=[0] keepdims=0 | data=i32[2,3]{1,2,3,4,5,6}",
    "axes=[0] | data=f64[3,2]{1,2,3,4,5,6}",
    "axes=[-1] | data=f16[2,2]{1,2,3,4}",
    "| data=f32[]{0.5}",
};
static const char *const reduce_log_sum_18_cases[] = {
    "| data=f32[2,3]{1,2,3,4,5,6}",
    "noop_with_empty_axes=1 | data=f32[2,3]{1,2,3,4,5,6}",
    "| data=f32[2,3]{1,2,3,4,5,6} axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3]{1,2,3,4,5,6} axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[2,3]{1,2,3,4,5,6} axes=i64[1]{0}",
    "| data=bf16[4]{1,2,3,4} axes=i64[1]{0}",
    "| data=i64[2]{7,9}",
};

TN_REDUCE_OPERATORS(reduce_log_sum, "ReduceLogSum", "number", 18, reduce_log_sum_function,
                    "Logarithms of sums along axes.",
                    "the logarithms; of integers, rounded towards zero", reduce_log_sum_1_cases,
                    reduce_log_sum_18_cases);
TN_LAYER_WITHOUT_KERNELS(reduce_log_sum, reduce_log_sum_operators);

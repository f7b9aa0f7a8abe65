/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceL2: the root of the sum of squares along axes; before opset 18 the axes are a field. */
#include "kit/math/element.h"
#include "kit/reduce/reduce_kernel.h"
#include "kit/reduce/reduce_operator.h"

#include <math.h>

static double norm_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double value = tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
        sum += value * value;
    }
    return sqrt(sum);
}

/* Of integers: what is behind the point is dropped. */
static int64_t norm_whole(tn_reduce_lane *lane) {
    return tn_element_round_i64(trunc(norm_real(lane)), lane->x->type);
}

static const tn_reduce_function reduce_l2_function = {norm_real, norm_whole};

static const char *const reduce_l2_1_cases[] = {
    "| data=f32[2,3]",
    "axes=[1] | data=f32[2,3]",
    "axes=[0,-1] keepdims=0 | data=f32[2,3]",
    "axes=[0] keepdims=0 | data=i32[2,3]{1,2,3,4,5,6}",
    "axes=[0] | data=f64[3,2]{1,2,3,4,5,6}",
    "axes=[-1] | data=f16[2,2]{1,2,3,4}",
    "axes=[1,2] | data=f32[3,5,7,37]",
    "axes=[1] keepdims=0 | data=f32[2,3,149]",
    "axes=[-2,-1] | data=f32[2,8,14,14]",
    "| data=f32[]{0.5}",
};
static const char *const reduce_l2_18_cases[] = {
    "| data=f32[2,3]",
    "noop_with_empty_axes=1 | data=f32[2,3]",
    "| data=f32[2,3] axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3] axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[2,3]{1,2,3,4,5,6} axes=i64[1]{0}",
    "| data=bf16[4]{1,2,3,4} axes=i64[1]{0}",
    "| data=i64[2]{7,9}",
    "| data=f32[2,3,5,7] axes=i64[2]{1,3}",
    "| data=f32[64,512] axes=i64[1]{-1}",
    "| data=f32[2,0,4] axes=i64[1]{1}",
};

TN_REDUCE_OPERATORS(reduce_l2, "ReduceL2", "number", 18, reduce_l2_function,
                    "Euclidean lengths along axes.",
                    "the lengths; of integers, rounded towards zero", reduce_l2_1_cases,
                    reduce_l2_18_cases);
TN_REDUCE_KERNELS(reduce_l2, "ReduceL2", TN_REDUCE_SUM_SQUARE, TN_REDUCE_ROOT);
TN_LAYER(reduce_l2, reduce_l2_operators, reduce_l2_kernels);

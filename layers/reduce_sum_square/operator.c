/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSumSquare: the sum of squares along axes; before opset 18 the axes are a field. */
#include "kit/math/element.h"
#include "kit/reduce/reduce_kernel.h"
#include "kit/reduce/reduce_operator.h"

static double squares_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double value = tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
        sum += value * value;
    }
    return sum;
}

static int64_t squares_whole(tn_reduce_lane *lane) {
    uint64_t sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const uint64_t value =
            (uint64_t)tn_element_load_i64(lane->x->data, lane->x->type, lane->at);
        sum += value * value;
    }
    return (int64_t)sum;
}

static const tn_reduce_function reduce_sum_square_function = {squares_real, squares_whole};

static const char *const reduce_sum_square_1_cases[] = {
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
static const char *const reduce_sum_square_18_cases[] = {
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

TN_REDUCE_OPERATORS(reduce_sum_square, "ReduceSumSquare", "number", 18, reduce_sum_square_function,
                    "Sums of squares along axes.", "the sums; integers wrap",
                    reduce_sum_square_1_cases, reduce_sum_square_18_cases);
TN_REDUCE_KERNELS(reduce_sum_square, "ReduceSumSquare", TN_REDUCE_SUM_SQUARE, TN_REDUCE_AS_IT_IS);
TN_LAYER(reduce_sum_square, reduce_sum_square_operators, reduce_sum_square_kernels);

/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMin: the smallest element along axes; before opset 18 the axes are a field. */
#include "kit/math/element.h"
#include "kit/reduce/reduce_kernel.h"
#include "kit/reduce/reduce_operator.h"

#include <math.h>

/* NaN where there is one; infinity for no elements. */
static double min_real(tn_reduce_lane *lane) {
    double found = (double)INFINITY;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double value = tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
        if (isnan(value)) return value;
        if (value < found) found = value;
    }
    return found;
}

/* The highest number of a type; of u64 the int64 of the same bits. */
static int64_t limit_of(tn_type type) {
    const uint32_t bits = 8 * (uint32_t)tn_element_bytes(type);
    const bool is_signed = type >= TN_I64 && type <= TN_I8;
    if (type == TN_BOOL) return 1;
    return (int64_t)(UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits));
}

static int64_t min_whole(tn_reduce_lane *lane) {
    int64_t found = limit_of(lane->x->type);
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const int64_t value = tn_element_load_i64(lane->x->data, lane->x->type, lane->at);
        const bool is_better =
            lane->x->type == TN_U64 ? (uint64_t)value < (uint64_t)found : value < found;
        if (is_better) found = value;
    }
    return found;
}

static const tn_reduce_function reduce_min_function = {min_real, min_whole};

static const char *const reduce_min_1_cases[] = {
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
static const char *const reduce_min_18_cases[] = {
    "| data=f32[2,3]",
    "noop_with_empty_axes=1 | data=f32[2,3]",
    "| data=f32[2,3] axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3] axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[2,3]{1,2,3,4,5,6} axes=i64[1]{0}",
    "| data=bf16[4]{1,2,3,4} axes=i64[1]{0}",
    "| data=u64[2]{18446744073709551615,7}",
    "| data=f32[2,3,5,7] axes=i64[2]{1,3}",
    "| data=f32[64,512] axes=i64[1]{-1}",
    "| data=bool[2,2]{0,1,0,0} axes=i64[1]{1}",
    "| data=i8[0,2] axes=i64[1]{0}",
    "| data=f32[2,0,4] axes=i64[1]{1}",
};

TN_REDUCE_OPERATORS(reduce_min, "ReduceMin", "number|bool", 18, reduce_min_function,
                    "Smallest elements along axes.", "the smallest; of bool: whether all are true",
                    reduce_min_1_cases, reduce_min_18_cases);
TN_REDUCE_KERNELS(reduce_min, "ReduceMin", TN_REDUCE_MIN, TN_REDUCE_AS_IT_IS);
TN_LAYER(reduce_min, reduce_min_operators, reduce_min_kernels);

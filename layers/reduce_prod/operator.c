/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceProd: the product along axes; one for no elements; before opset 18 the axes are a field. */
#include "kit/math/element.h"
#include "kit/reduce/reduce_operator.h"

static double product_real(tn_reduce_lane *lane) {
    double product = 1;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        product *= tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
    return product;
}

static int64_t product_whole(tn_reduce_lane *lane) {
    uint64_t product = 1;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        product *= (uint64_t)tn_element_load_i64(lane->x->data, lane->x->type, lane->at);
    return (int64_t)product;
}

static const tn_reduce_function reduce_prod_function = {product_real, product_whole};

static const char *const reduce_prod_1_cases[] = {
    "| data=f32[2,3]",
    "axes=[1] | data=f32[2,3]",
    "axes=[0,-1] keepdims=0 | data=f32[2,3]",
    "axes=[0] keepdims=0 | data=i32[2,3]{1,2,3,4,5,6}",
    "axes=[0] | data=f64[3,2]{1,2,3,4,5,6}",
    "axes=[-1] | data=f16[2,2]{1,2,3,4}",
    "| data=f32[]{0.5}",
};
static const char *const reduce_prod_18_cases[] = {
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

TN_REDUCE_OPERATORS(reduce_prod, "ReduceProd", "number", 18, reduce_prod_function,
                    "Products along axes.", "the products; integers wrap", reduce_prod_1_cases,
                    reduce_prod_18_cases);
TN_LAYER_WITHOUT_KERNELS(reduce_prod, reduce_prod_operators);
